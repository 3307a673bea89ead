from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0004_agents_pins_discovery_names'),
    ]

    operations = [
        migrations.AlterField(
            model_name='connection',
            name='kind',
            field=models.CharField(choices=[('embedded', 'embedded'), ('example', 'example')], default='embedded', max_length=20),
        ),
    ]

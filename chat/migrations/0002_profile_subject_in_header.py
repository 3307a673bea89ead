import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='profile',
            name='subject',
            field=models.CharField(help_text='Sent as Gateway-Subject. Opaque, not a name.', max_length=200, validators=[django.core.validators.RegexValidator('\\A[\\x21-\\x7e]{1,200}\\Z', 'Use 1 to 200 ASCII letters, digits and signs, without spaces, such as user-42.', 'not_a_header')]),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0002_op_embedding'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='opembedding',
            name='op_embedding_waiting',
        ),
        migrations.AddField(
            model_name='opembedding',
            name='refused_at',
            field=models.DateTimeField(help_text='When the endpoint refused the text. It is sent again in a week.', null=True),
        ),
        migrations.AlterField(
            model_name='opembedding',
            name='text_hash',
            field=models.CharField(help_text="SHA-256 of the endpoint's address, the model's name and the text.", max_length=64, primary_key=True, serialize=False),
        ),
    ]

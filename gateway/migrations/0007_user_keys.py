import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gateway", "0006_pending_inputs"),
        ("registry", "0007_result_row"),
    ]

    operations = [
        migrations.CreateModel(
            name="OpenedLink",
            fields=[
                (
                    "digest",
                    models.CharField(
                        help_text="SHA-256 of the link's token.", max_length=64, primary_key=True, serialize=False
                    ),
                ),
                ("opened_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="EndUserSettings",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "has_user_keys",
                    models.BooleanField(
                        default=False,
                        help_text="Each end user enters their own token, password or API key on a page that the chat links to. The secret below is then not used.",
                        verbose_name="own keys",
                    ),
                ),
                (
                    "max_file_kb",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Of the files that ops send to the service. 0: as large as files can be.",
                        validators=[django.core.validators.MaxValueValidator(1000000)],
                        verbose_name="largest file (KB)",
                    ),
                ),
                (
                    "file_types",
                    models.CharField(
                        blank=True,
                        help_text="Types of these files, separated by spaces: image/* application/pdf. Empty: all types.",
                        max_length=500,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A\\s*([a-z]+/(\\*|[\\w.+-]+)(\\s+|\\Z))*\\Z",
                                "Send types separated by spaces, such as: image/* application/pdf.",
                            )
                        ],
                    ),
                ),
                (
                    "connection",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="end_user_settings",
                        to="registry.connection",
                    ),
                ),
            ],
            options={
                "verbose_name": "end user settings",
                "verbose_name_plural": "end user settings",
            },
        ),
        migrations.CreateModel(
            name="UserKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("subject", models.CharField(help_text="The end user.", max_length=200)),
                (
                    "username",
                    models.TextField(
                        blank=True, editable=False, help_text="Encrypted. For a user name with a password."
                    ),
                ),
                ("secret", models.TextField(editable=False, help_text="Encrypted.")),
                (
                    "origin",
                    models.CharField(editable=False, help_text="The origins that it was entered for.", max_length=1100),
                ),
                ("entered_at", models.DateTimeField()),
                (
                    "refused_at",
                    models.DateTimeField(
                        blank=True, help_text="When the service refused it. It is not sent again.", null=True
                    ),
                ),
                ("client", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="gateway.client")),
                (
                    "connection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="user_keys", to="registry.connection"
                    ),
                ),
            ],
            options={
                "verbose_name": "own key",
                "ordering": ["-entered_at"],
                "constraints": [
                    models.UniqueConstraint(fields=("connection", "client", "subject"), name="user_key_once")
                ],
            },
        ),
    ]

"""What the audit log declares."""

from core.manifest import AuditKind, Manifest

MANIFEST = Manifest(
    areas={"history": ["audit.auditentry"]},
    audit_kinds={
        "user": AuditKind("user", "auth.view_user"),
        "role": AuditKind("role", "auth.view_group"),
        "sign_in": AuditKind("sign-in", "auth.view_user"),
    },
)

"""Customers, orders, audit."""

import sqlalchemy as sa
from alembic import op

__all__ = ("down_revision", "revision", "upgrade")

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the first three tables."""
    op.create_table(
        "desk_customers",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("email_key", sa.Text, nullable=False),
        sa.Column("phone", sa.Text, nullable=False),
        sa.Column("phone_key", sa.Text, nullable=False),
        sa.Column("username", sa.Text, nullable=False),
        sa.Column("username_key", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="desk_customers_pk"),
        sa.UniqueConstraint("email_key", name="desk_customers_email_key_unique"),
        sa.UniqueConstraint("phone_key", name="desk_customers_phone_key_unique"),
        sa.UniqueConstraint("username_key", name="desk_customers_username_key_unique"),
    )
    op.create_table(
        "desk_orders",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("customer_id", sa.Text, nullable=False),
        sa.Column("product", sa.Text, nullable=False),
        sa.Column("quantity", sa.Integer, nullable=False),
        sa.Column("price_cents", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="desk_orders_pk"),
        sa.ForeignKeyConstraint(["customer_id"], ["desk_customers.id"], name="desk_orders_customer_id_fk"),
        sa.CheckConstraint("quantity > 0", name=op.f("desk_orders_quantity_positive")),
        sa.CheckConstraint("price_cents >= 0", name=op.f("desk_orders_price_not_negative")),
        sa.CheckConstraint(
            "status IN ('Processing', 'Shipped', 'Delivered', 'Cancelled')", name=op.f("desk_orders_status_known")
        ),
    )
    op.create_index("desk_orders_customer_id", "desk_orders", ["customer_id"])
    op.create_table(
        "desk_audit",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("principal_kind", sa.Text, nullable=False),
        sa.Column("principal_id", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("conversation_id", sa.Text, nullable=True),
        sa.Column("call_id", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("seq", name="desk_audit_pk"),
        sqlite_autoincrement=True,
    )
    op.create_index("desk_audit_subject", "desk_audit", ["subject"])

"""Addresses at which clouds give their virtual machines credentials and user data."""

from ipaddress import ip_address

METADATA_ADDRESSES = tuple(
    ip_address(address)
    for address in (
        "169.254.169.254",  # AWS, Azure, Google Cloud, Oracle Cloud, DigitalOcean, OpenStack and others
        "169.254.170.2",  # AWS: credentials of ECS tasks
        "169.254.170.23",  # AWS: credentials of EKS pods
        "169.254.42.42",  # Scaleway
        "169.254.0.23",  # Tencent Cloud
        "168.63.129.16",  # Azure's host agent
        "192.0.0.192",  # Oracle Cloud
        "100.100.100.200",  # Alibaba Cloud
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS: credentials of EKS pods
        "fd20:ce::254",  # Google Cloud
        "fd00:42::42",  # Scaleway
    )
)

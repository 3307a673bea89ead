"""What the section home page of the console declares: its pages and its tabs."""

from console.home import checklist
from core.manifest import AdminPage, Manifest

MANIFEST = Manifest(pages=[AdminPage("home_checklist_hide", "first-steps/hide/", checklist.hide)])

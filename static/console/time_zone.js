// Tells the server the reader's time zone, so that pages and forms have local times.
"use strict";

document.cookie = `time_zone=${encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone)}; path=/admin/; max-age=31536000; samesite=lax`;

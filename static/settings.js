// On a phone the sections are one line that scrolls: the current one shall be in sight.
document.querySelector(".side [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

// Browsers install apps from secure addresses only.
for (const line of document.querySelectorAll("[data-install-secure]")) line.hidden = !isSecureContext;
for (const line of document.querySelectorAll("[data-install-plain]")) line.hidden = isSecureContext;

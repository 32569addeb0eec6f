export const hardware = {
  "hardware.title": "Hardware",
} as const;

export const views = {
  "views.title": "Chart",
  "views.last": "last",
  "views.min": "min",
  "views.mean": "mean",
  "views.max": "max",
  "views.time": "Time",
  "views.noValue": "no value",
  "views.more": "{n} more lines are drawn but not listed",
  "views.gap": "No data here",
  "views.gapReason": "No data here: {reason}",
  "views.summary": "{label}, {lines} lines, from {from} to {to}",
} as const;

import type { views as en } from "../en/views";

export const views: Record<keyof typeof en, string> = {
  "views.title": "图表",
  "views.last": "最新",
  "views.min": "最小",
  "views.mean": "平均",
  "views.max": "最大",
  "views.time": "时间",
  "views.noValue": "无数值",
  "views.more": "另有 {n} 条线已绘制但未列出",
  "views.gap": "此处没有数据",
  "views.gapReason": "此处没有数据：{reason}",
  "views.summary": "{label}，{lines} 条线，{from} 至 {to}",
};

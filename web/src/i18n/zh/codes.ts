import type { codes as en } from "../en/codes";

export const codes: Record<keyof typeof en, string> = {
  "code.triton_no_summaries.text": "该 Triton 服务未导出延迟摘要，因此只能得到均值。",
  "code.triton_no_summaries.remedy": "启动 Triton 时加上 --metrics-config summary_latencies=true。",
  "code.token_missing.text": "该服务器需要令牌。",
  "code.token_missing.remedy": "请用控制台令牌登录。",
};

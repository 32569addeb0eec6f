import { codes } from "./codes";
import { explore } from "./explore";
import { faults } from "./faults";
import { hardware } from "./hardware";
import { kit } from "./kit";
import { model } from "./model";
import { now } from "./now";
import { shell } from "./shell";
import { signals } from "./signals";
import { status } from "./status";
import { views } from "./views";

export const en = { ...codes, ...explore, ...faults, ...hardware, ...kit, ...model, ...now, ...shell, ...signals, ...status, ...views } as const;

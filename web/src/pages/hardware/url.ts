// Address of the Hardware page: view is the colouring signal, sel the selected
// GPU (its UUID), q filters.
import { choiceParam, textParam, type Codec } from "@/state/url";
import { views, type View } from "./cells";

export interface HardwareState {
  view: View;
  sel: string;
  q: string;
}

export const hardwareCodec: Codec<HardwareState> = {
  view: choiceParam("view", views, "busy"),
  sel: textParam("sel"),
  q: textParam("q"),
};

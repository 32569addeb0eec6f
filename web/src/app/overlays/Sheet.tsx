import type { ReactNode } from "react";
import { Dialog, Modal, ModalOverlay } from "react-aria-components";
import { cx } from "@/kit/basics";

/** A dialog over the page; Escape and a press outside close it. */
export function Sheet(p: { label: string; close: () => void; children: ReactNode; className?: string; stay?: boolean }) {
  return (
    <ModalOverlay isOpen isDismissable={!p.stay} isKeyboardDismissDisabled={p.stay ?? false} onOpenChange={(open) => !open && p.close()} className="fixed inset-0 z-50 flex items-start justify-center bg-scrim pt-[12vh]">
      <Modal className={cx("max-h-[76vh] overflow-hidden rounded-lg border border-line-strong bg-raised shadow-pop", p.className ?? "w-[560px] max-w-[92vw]")}>
        <Dialog aria-label={p.label} className="flex max-h-[76vh] flex-col">
          {p.children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

import type { AdmissionObserver } from '../admission/observer.ts';
import type { Scope } from './scope.ts';

/** Notes how long calls wait for room. */
export const admissionTraces = (scope: Scope): AdmissionObserver => ({
  lane: () => ({
    began: (waitedMs) => {
      if (waitedMs > 0) scope.current?.setAttribute('content_gateway.waited_ms', Math.round(waitedMs * 10) / 10);
    },
    refused: () => undefined,
  }),
  refusedAtGate: () => undefined,
});

import type { OverloadObserver } from '../../limits/overload/observer.ts';
import type { SpanScope } from './scope.ts';

/** Records the queue times of calls. */
export const overloadTraces = (scope: SpanScope): OverloadObserver => ({
  limiter: () => ({
    began: (waitedMs) => {
      if (waitedMs > 0) scope.current?.setAttribute('content_gateway.waited_ms', Math.round(waitedMs * 10) / 10);
    },
    refused: () => undefined,
  }),
  shed: () => undefined,
});

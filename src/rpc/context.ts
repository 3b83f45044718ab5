import type { Logger } from 'pino';
import type { UseRecorder } from '../consumers/use/recorder.ts';
import type { KeyVerifier } from '../auth/verifier.ts';
import type { Config } from '../config/config.ts';
import type { Maintenance } from './maintenance/maintenance.ts';
import type { OverloadProtection } from '../limits/overload/overload-protection.ts';
import type { Limits } from '../limits/rate-limit/limits.ts';
import type { Observer } from '../base/observer.ts';

/** The dependencies of calls, by any transport. */
export interface RpcContext {
  config: Config;
  log: Logger;
  /** Verifies API keys, and records who uses what, if anything is recorded. */
  auth: { keys: KeyVerifier; uses: UseRecorder | undefined };
  /** Bounds what callers may ask for. Without `limits` they have no rates and quotas; in maintenance they write nothing. */
  protection: { limits: Limits | undefined; overload: OverloadProtection; maintenance: Maintenance };
  /** Observes the service; undefined without telemetry. */
  observer: Observer | undefined;
}

import type { Config } from '../config/config.ts';
import { Deadline } from '../base/deadline.ts';
import { callsOf } from './app.ts';
import { stopSignal } from './cluster/workers.ts';
import { closeContext } from './context.ts';
import { open, openLog, prepareDatabase } from './start.ts';
import { LOG_END_MS, StopTime } from './stop-time.ts';

/**
 * Serves the Model Context Protocol on the standard input and output, with a key or anonymously, until the input ends
 * or a signal arrives: then it answers the requests under way, stores buffered changes, and closes the database. The
 * log is written to the standard error.
 * @throws AppError DATABASE_UNAVAILABLE, KEY_… for a key that does not work
 */
export const serveMcp = async (config: Config, key: string | undefined): Promise<void> => {
  const { log, end } = await openLog(config);
  // Programs that start it for an assistant report lines of its log as faults.
  const context = await open(config, log, { level: 'debug' });
  const stopTime = new StopTime(config.shutdownTimeoutMs);
  const stopped = stopSignal();
  try {
    await prepareDatabase(context);
    const calls = callsOf(context);
    const { serveOnStdio } = await import('../rpc/mcp/stdio.ts');
    context.lifecycle.indexer.start();
    context.lifecycle.sweeper.start();
    await serveOnStdio(calls, context, { key, stopped, stopMs: () => stopTime.left });
  } finally {
    await closeContext(context, new Deadline(stopTime.leftInAll));
    await end(stopTime.leftInAll + LOG_END_MS);
  }
};

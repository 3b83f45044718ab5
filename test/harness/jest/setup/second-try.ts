import { jest } from '@jest/globals';

// In CI alone: most tests wait for something, on a machine that others load. A test that fails is tried once more, after
// the others of its file; what the first try said is printed, and `.ci/run` lists such tests at its end.
if (process.env['CI'] === 'true') jest.retryTimes(1, { logErrorsBeforeRetry: true });

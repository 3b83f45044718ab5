/** While connections come, how long work goes on between two looks at the network, milliseconds. */
const TURN_MS = 0.2;
/** How long a connection that came makes us hurry. */
const HURRY_MS = 2;

let jobs: (() => void)[] = [];
let next = 0;
let isRunning = false;
let hurriedUntil = 0;
let end = 0;

const run = (): void => {
  end = performance.now() + TURN_MS;
  runOne();
};

const runOne = (): void => {
  const job = jobs[next];
  next += 1;
  if (next === jobs.length) {
    jobs = [];
    next = 0;
    isRunning = false;
  } else {
    // After all that the job has led to.
    queueMicrotask(() => process.nextTick(goOn));
  }
  job?.();
};

const goOn = (): void => {
  if (performance.now() < end) runOne();
  else setImmediate(run);
};

/**
 * Does a job: at once or, while connections come, with looks at the network between those that came before and this one.
 * Node accepts one connection at each look, so that a crowd of callers would else have whoever connects wait for seconds.
 */
export const inTurn = (job: () => void): void => {
  if (!isRunning && performance.now() > hurriedUntil) {
    job();
    return;
  }
  jobs.push(job);
  if (isRunning) return;
  isRunning = true;
  setImmediate(run);
};

/** The value, when it is our turn. */
export const whenItIsOurTurn = <T>(value: T): Promise<T> => new Promise((resolve) => inTurn(() => resolve(value)));

/** To be told of each new connection. */
export const noteConnection = (): void => {
  hurriedUntil = performance.now() + HURRY_MS;
};

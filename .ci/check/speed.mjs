// How fast this machine computes while steps run. What others do beside, on the same cores, makes the same work cost up to twice the
// seconds of the processor.

/** What the work below takes, in milliseconds of the processor, on the machine whose seconds the budgets are. */
const REFERENCE_MS = 20;

const document = JSON.stringify(
  Array.from({ length: 4000 }, (_, id) => ({ id, title: `game ${id * 7919}`, tags: [id % 7, id % 11] })),
);
const work = () => JSON.parse(document).toSorted((a, b) => (a.title < b.title ? -1 : 1)).length;

const samples = [];
const measure = () => {
  const before = process.cpuUsage();
  for (let round = 0; round < 12; round++) work();
  const { user, system } = process.cpuUsage(before);
  samples.push({ at: Date.now(), ms: (user + system) / 1000 });
};
// Until it is compiled.
for (let round = 0; round < 20; round++) work();
measure();
setInterval(measure, 2000).unref();

/** How many times longer than the reference this machine computed since `began`, a time in milliseconds: the median. */
export const slownessSince = (began) => {
  measure();
  const taken = samples.filter(({ at }) => at >= began).map(({ ms }) => ms);
  return taken.toSorted((a, b) => a - b)[Math.floor(taken.length / 2)] / REFERENCE_MS;
};

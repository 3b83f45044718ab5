import { setTimeout } from '../../../base/runtime.ts';
import {
  bucketOf,
  type Buckets,
  type Charge,
  chargedMs,
  fullMs,
  millisecondsOf,
  MOST_DEBT,
  type ChargeOutcome,
  outcomeOf,
  type Policy,
  type RateLimitRefusal,
  refusalOf,
  type RateLimitStatus,
  type LocalBuckets,
} from '../buckets.ts';
import { type Redis, scriptOf } from './redis.ts';

/** The longest delay of charges that are sent in the background. */
const DELAY_MS = 20;
/** Redis counts whole microseconds. */
const MICROSECONDS = 1000;

/**
 * Reads how long a bucket takes to drain, in microseconds. Removes values that no instance can have written: other
 * types, texts that are not numbers, and numbers above `most`. Every value has an expiry.
 */
const READ = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function read(key, most)
  local value = redis.pcall('GET', key)
  if not value then return 0 end
  local backlog = type(value) == 'string' and (tonumber(value) or 0) - now
  if backlog and backlog > 0 and backlog <= most then
    if redis.call('PTTL', key) < 0 then redis.call('PEXPIRE', key, math.ceil(backlog / 1000)) end
    return backlog
  end
  redis.call('DEL', key)
  return 0
end
`;

/**
 * Charges the buckets of KEYS, all or none. The arguments for each are two numbers in microseconds: the drain time of a
 * full bucket, and the cost. It returns whether the charges were consumed, and the previous drain times.
 */
const TAKE = scriptOf(`${READ}
local answer = {1}
for i, key in ipairs(KEYS) do
  local full = tonumber(ARGV[2 * i - 1])
  local backlog = read(key, ${MOST_DEBT} * full)
  answer[i + 1] = backlog
  if backlog + ARGV[2 * i] > full then answer[1] = 0 end
end
if answer[1] == 1 then
  for i, key in ipairs(KEYS) do
    local backlog = answer[i + 1] + ARGV[2 * i]
    if tonumber(ARGV[2 * i]) > 0 then
      redis.call('SET', key, string.format('%.0f', now + backlog), 'PX', math.ceil(backlog / 1000))
    end
  end
end
return answer
`);

/** Adds to the bucket of KEYS, up to a limit, both in microseconds. */
const ADD = scriptOf(`${READ}
local most = tonumber(ARGV[1])
local backlog = math.min(math.max(0, read(KEYS[1], most) + ARGV[2]), most)
if backlog > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', now + backlog), 'PX', math.ceil(backlog / 1000))
else
  redis.call('DEL', KEYS[1])
end
return 0
`);

const inMicroseconds = (ms: number): string => String(Math.floor(ms * MICROSECONDS));

/**
 * The buckets that instances share in Redis. While Redis is unavailable, each instance counts alone, starting from the
 * last statuses that it received.
 */
export class SharedBuckets implements Buckets {
  readonly #redis: Redis;
  readonly #local: LocalBuckets;
  /** The charges not yet sent. */
  readonly #pending = new Map<string, Charge>();

  constructor(redis: Redis, local: LocalBuckets) {
    this.#redis = redis;
    this.#local = local;
  }

  consume(charges: readonly Charge[]): ChargeOutcome | Promise<ChargeOutcome> {
    return this.#redis.isConnected ? this.#takeShared(charges) : this.#local.consume(charges);
  }

  add(charge: Charge): void {
    this.#local.add(charge);
    if (this.#pending.size === 0) setTimeout(() => this.#flush(), DELAY_MS).unref();
    const bucket = bucketOf(charge);
    const { cost = 0 } = this.#pending.get(bucket) ?? {};
    this.#pending.set(bucket, { ...charge, cost: cost + charge.cost });
  }

  status(policy: Policy, owner: string): RateLimitStatus {
    return this.#local.status(policy, owner);
  }

  async #takeShared(charges: readonly Charge[]): Promise<ChargeOutcome> {
    const answer = (await this.#redis.run(
      TAKE,
      charges.map((charge) => this.#nameOf(charge)),
      charges.flatMap((charge) => [inMicroseconds(fullMs(charge.policy)), inMicroseconds(chargedMs(charge))]),
    )) as number[] | undefined;
    if (!answer) return this.#local.consume(charges);
    const [taken, ...microseconds] = answer;
    const backlogs = microseconds.map((backlog) => backlog / MICROSECONDS);
    const outcome = outcomeOf(charges, backlogs, taken === 1 ? undefined : this.#refusalOf(charges, backlogs));
    for (const [index, { owner }] of charges.entries())
      this.#local.note(outcome.statuses[index] as RateLimitStatus, owner);
    return outcome;
  }

  /** At least one charge is refused, even if only by rounding. */
  #refusalOf(charges: readonly Charge[], backlogs: readonly number[]): RateLimitRefusal {
    return refusalOf(charges, backlogs) ?? { policy: (charges[0] as Charge).policy, roomInMs: 1 };
  }

  #flush(): void {
    for (const charge of this.#pending.values()) {
      const { policy, cost } = charge;
      const most = inMicroseconds(MOST_DEBT * fullMs(policy));
      this.#redis.tell(ADD, [this.#nameOf(charge)], [most, inMicroseconds(millisecondsOf(policy, cost))]);
    }
    this.#pending.clear();
  }

  #nameOf({ policy, owner, group }: Charge): string {
    return this.#redis.nameOf(policy.name, owner, group);
  }
}

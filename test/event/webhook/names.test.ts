/**
 * @engines none
 * @tier fast
 */
import { lookup } from 'node:dns/promises';
import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { nameLookUp } from '../../../src/event/webhook/sender/names.ts';
import { type NameServer, NXDOMAIN, startNameServer } from '../../harness/servers/name-server.ts';
import { until } from '../../harness/until.ts';

const never = new AbortController().signal;
const servers: NameServer[] = [];
const serve = async (...given: Parameters<typeof startNameServer>): Promise<NameServer> => {
  const server = await startNameServer(...given);
  servers.push(server);
  return server;
};
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

describe('the look-up of a name', () => {
  test('finds all addresses, of IPv4 and of IPv6', async () => {
    const { address } = await serve(() => ['192.0.2.7', '192.0.2.8', '2001:db8::9']);
    const found = await nameLookUp({ servers: [address] })('Hooks.Example.', never);
    expect(found).toEqual([
      { address: '192.0.2.7', family: 4 },
      { address: '192.0.2.8', family: 4 },
      { address: '2001:db8::9', family: 6 },
    ]);
  });

  test('holds up no other one while a name server is silent, and asks no more once it is aborted', async () => {
    const { address, asked } = await serve((name) => (name === 'sound.example' ? ['192.0.2.1'] : 'silence'));
    const lookUp = nameLookUp({ servers: [address] });
    const deadline = new AbortController();
    setMaxListeners(0, deadline.signal);
    let hanging = 0;
    const hung = Array.from({ length: 64 }, async (_, n) => {
      hanging += 1;
      await lookUp(`silent-${n}.example`, deadline.signal).finally(() => (hanging -= 1));
    });
    const ended = Promise.allSettled(hung);
    await until(() => new Set(asked).size === hung.length);
    expect(await lookUp('sound.example', never)).toHaveLength(1);
    // Nor those of the database and of Redis.
    await lookup('localhost');
    expect(hanging).toBe(hung.length);
    deadline.abort();
    expect(new Set((await ended).map(({ status }) => status))).toEqual(new Set(['rejected']));
    const before = asked.length;
    await expect(lookUp('later.example', deadline.signal)).rejects.toThrow('aborted');
    await lookUp('sound.example', never);
    expect(asked.slice(before).filter((name) => name.startsWith('silent'))).toEqual([]);
  });

  test('knows the hosts file and the search domains where the operator lets webhooks into networks', async () => {
    const { address, asked } = await serve((name) => (name === 'hook.team.svc.local' ? ['10.1.2.3'] : NXDOMAIN));
    const folder = mkdtempSync(join(tmpdir(), 'content-gateway-names-'));
    const hostsFile = join(folder, 'hosts');
    const resolverFile = join(folder, 'resolv.conf');
    writeFileSync(hostsFile, '# ours\n10.9.8.7\tInner inner.lan # the second\nfd00::7 inner\n');
    writeFileSync(resolverFile, 'nameserver 192.0.2.53\nsearch svc.local local\n');
    const sources = { servers: [address], hostsFile, resolverFile };
    const [local, public_] = [nameLookUp({ ...sources, hasLocalNames: true }), nameLookUp(sources)];
    expect((await local('inner', never)).map((one) => one.address)).toEqual(['10.9.8.7', 'fd00::7']);
    expect((await local('hook.team', never)).map((one) => one.address)).toEqual(['10.1.2.3']);
    await expect(local('hook.team.', never)).rejects.toThrow('ENOTFOUND');
    await expect(public_('inner', never)).rejects.toThrow('ENOTFOUND');
    asked.length = 0;
    await expect(public_('hook.team', never)).rejects.toThrow('ENOTFOUND');
    expect(new Set(asked)).toEqual(new Set(['hook.team']));
    rmSync(folder, { recursive: true });
  });
});

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';

/** How names are answered: with addresses, with an error code of DNS, or not at all. */
type Zone = (name: string) => readonly string[] | number | 'silence';

/** The codes of errors that a name server may answer. */
export const SERVFAIL = 2;
export const NXDOMAIN = 3;

export interface NameServer {
  /** `127.0.0.1:<port>` */
  address: string;
  /** The names that were asked for, once for each query. */
  asked: string[];
  close(): void;
}

const A = 1;
const AAAA = 28;
const HEADER_BYTES = 12;

const bytesOf = (address: string): number[] =>
  isIPv4(address)
    ? address.split('.').map(Number)
    : Array.from({ length: 16 }, (_, index) => {
        const [head = '', tail = ''] = address.split('::');
        const before = head.split(':').filter(Boolean);
        const after = tail.split(':').filter(Boolean);
        const words = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
        const word = Number.parseInt(words[Math.floor(index / 2)]!, 16);
        return index % 2 === 0 ? word >> 8 : word & 255;
      });

/** Starts a name server on loopback, by UDP. */
export const startNameServer = async (zone: Zone): Promise<NameServer> => {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = [];
    let at = HEADER_BYTES;
    for (let length = query[at]!; length > 0; length = query[at]!) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const question = query.subarray(HEADER_BYTES, at + 5);
    const type = query.readUInt16BE(at + 1);
    const name = labels.join('.').toLowerCase();
    asked.push(name);
    const found = zone(name);
    if (found === 'silence') return;
    const addresses = typeof found === 'number' ? [] : found;
    const records = addresses
      .filter((one) => type === (isIPv4(one) ? A : AAAA))
      .map((one) => {
        const bytes = bytesOf(one);
        return Buffer.from([0xc0, HEADER_BYTES, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes]);
      });
    const header = Buffer.from(query.subarray(0, HEADER_BYTES));
    header.writeUInt16BE(0x8180 | (typeof found === 'number' ? found : 0), 2);
    header.writeUInt16BE(records.length, 6);
    header.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([header, question, ...records]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, asked, close: () => socket.close() };
};

import type { IncomingHttpHeaders } from 'node:http';

/** What was asked, and with what status it was answered. */
export interface Exchange {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  status: number;
}

/** Starts a server on a free port that passes requests on to `target`, such as `http://127.0.0.1:3000`, and keeps what was said. */
export declare const startRecorder: (
  target: string,
) => Promise<{ url: string; exchanges: Exchange[]; stop: () => Promise<void> }>;

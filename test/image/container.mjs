import { freePort } from '../harness/free-ports.mjs';
import { postCall } from '../harness/http/post.mjs';

/** Ends only what hangs: other checks run beside. */
const READY_SECONDS = 180;
/** Docker waits 10 seconds by itself, which a busy machine may need for a stop that takes one. */
const STOP_SECONDS = 60;
/** What the service can do without. */
export const CONFINED = [
  '--read-only',
  '--network=host',
  '--cap-drop=ALL',
  '--security-opt=no-new-privileges',
  '--memory=512m',
];

/** The words that set variables of a container. */
export const variables = (env) => Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);

/** A container that runs the service, or a command of it, in the background. */
export class Container {
  #docker;
  #id;
  /** Where the service answers. */
  url;

  constructor(docker, id, url) {
    this.#docker = docker;
    this.#id = id;
    this.url = url;
  }

  /** @param options `image`, `env`, `options` for Docker, and the `command`, all but the image as one needs them */
  static async start(docker, { image, env = {}, options = [], command = [] }) {
    const port = await freePort();
    const words = [...CONFINED, ...variables({ PORT: port, HOST: '127.0.0.1', ...env }), ...options];
    const id = await docker.run('run', '--detach', ...words, image, ...command);
    return new Container(docker, id, `http://127.0.0.1:${port}`);
  }

  /** Resolves when the service is ready. @throws Error with its log if it ends before, or takes too long */
  async ready() {
    const end = Date.now() + READY_SECONDS * 1000;
    for (;;) {
      const response = await fetch(`${this.url}/readyz`).catch(() => undefined);
      await response?.body?.cancel();
      if (response?.ok) return this;
      if (Date.now() > end || (await this.inspect('{{.State.Running}}')) !== 'true') {
        throw new Error(`not ready:\n${await this.log()}`);
      }
      // Asking Docker takes more of the processor than a start.
      await new Promise((resolve) => {
        setTimeout(resolve, 500);
      });
    }
  }

  /** What Docker knows of it, by a template. */
  inspect(template) {
    return this.#docker.run('inspect', '--format', template, this.#id);
  }

  /** What it has printed on both streams. */
  async log() {
    return (await this.#docker.attempt('logs', this.#id)).output;
  }

  /** Runs a program in it. @returns `{status, output}` */
  exec(...words) {
    return this.#docker.attempt('exec', this.#id, ...words);
  }

  /** Calls a procedure. @returns the status and, of a success, the output */
  async call(procedure, input, key) {
    const response = await postCall(this.url, procedure, input, key);
    const { result } = await response.json();
    return { status: response.status, output: result?.data.json };
  }

  /** Stops it; the status is 137 where Docker had to kill it. @returns `{status, seconds}` */
  async stop() {
    const start = performance.now();
    await this.#docker.run('stop', '--time', String(STOP_SECONDS), this.#id);
    return {
      status: Number(await this.inspect('{{.State.ExitCode}}')),
      seconds: (performance.now() - start) / 1000,
    };
  }

  /** Stops it as `docker stop` does, and starts it again. */
  restart(seconds) {
    return this.#docker.run('restart', '--time', String(seconds), this.#id);
  }

  /** Resolves when it has ended, with its exit status. */
  async ended() {
    return Number(await this.#docker.run('wait', this.#id));
  }

  /** Resolves when its health is found to be what is wanted. */
  async becomes(health) {
    if ((await this.inspect('{{.State.Health.Status}}')) === health) return;
    const filters = ['--filter', `container=${this.#id}`, '--filter', 'event=health_status'];
    // What came before the first line is told as well.
    for await (const line of this.#docker.lines('events', '--since', '1m', ...filters, '--format', '{{.Action}}')) {
      if (line === `health_status: ${health}`) return;
    }
  }

  kill(signal) {
    return this.#docker.run('kill', '--signal', signal, this.#id);
  }

  remove() {
    return this.#docker.attempt('rm', '--force', '--volumes', this.#id);
  }
}

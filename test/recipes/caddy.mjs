import { tryProxy } from './support/proxy.mjs';
import { need } from './support/tools.mjs';

/** With a certificate at hand instead of one from an authority, and no port for its administration. */
const configure = (text, port) => `{
	admin off
	auto_https disable_redirects
}
${text.replace(/^\S+ \{\n/, `https://localhost:${port} {\n\ttls cert.pem key.pem\n`)}`;

export const recipe = async (context) => {
  await need('caddy');
  const command = 'exec caddy run --config config --adapter caddyfile';
  return tryProxy(context, { file: 'caddy/Caddyfile', configure, command });
};

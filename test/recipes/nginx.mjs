import { tryProxy } from './support/proxy.mjs';
import { need } from './support/tools.mjs';

const KEPT = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** Around the guide's part: one process, which keeps its files in the folder. */
const configure = (text, port) => `
daemon off;
master_process off;
error_log stderr error;
pid pid;
events {}
http {
  access_log off;
  ${KEPT.map((use) => `${use}_temp_path ${use};`).join(' ')}
  ${text.replace('listen 443', `listen 127.0.0.1:${port}`).replaceAll(/\/etc\/ssl\/content\.(pem|key)/g, (_, end) => (end === 'pem' ? 'cert.pem' : 'key.pem'))}
}`;

export const recipe = async (context) => {
  await need('nginx');
  const command = 'exec nginx -p "$PWD" -e stderr -c config';
  return tryProxy(context, { file: 'nginx/gateway.conf', configure, command });
};

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './support/clone.mjs';
import { document } from './support/document.mjs';
import { blocksOf } from './support/guide.mjs';
import { run } from './support/shell.mjs';
import { readYaml } from './support/yaml.mjs';

/** The steps that the file describes, as `workflow / step`, and the operations that they call. */
const described = async () => {
  const { workflows } = await readYaml(join(root, 'openapi/workflows.arazzo.yaml'));
  return workflows.flatMap(({ workflowId, steps }) =>
    steps.map(({ stepId, operationPath }) => ({ step: `${workflowId} / ${stepId}`, operationPath })),
  );
};

/** The steps that Respect has run, in order. @throws Error if a check of one failed or a reply was not the document's */
const stepsRun = (results) =>
  Object.values(results.files)
    .flatMap(({ executedWorkflows }) => executedWorkflows)
    .flatMap(({ workflowId, executedSteps }) =>
      executedSteps.map(({ stepId, checks }) => {
        const bad = checks.filter(({ status, passed }) => status !== 'success' && passed !== true);
        if (checks.length === 0 || bad.length > 0) throw new Error(`${workflowId} / ${stepId}: ${JSON.stringify(bad)}`);
        return { step: `${workflowId} / ${stepId}`, checks: checks.length };
      }),
    );

export const recipe = async ({ folder, env }) => {
  const wanted = await described();
  const paths = Object.keys(document.paths).map(
    (path) => `{$sourceDescriptions.gateway.url}#/paths/${path.replaceAll('/', '~1')}/post`,
  );
  const foreign = wanted.find(({ operationPath }) => !paths.includes(operationPath));
  if (foreign) throw new Error(`${foreign.step} calls what the document does not have: ${foreign.operationPath}`);

  for (const lines of blocksOf('Arazzo')) await run(lines, { cwd: folder, env: { ...env, GATEWAY_HOME: root } });
  const done = stepsRun(JSON.parse(await readFile(join(folder, 'respect.json'), 'utf8')));
  const [planned, ran] = [wanted, done].map((steps) => steps.map(({ step }) => step).join(', '));
  if (ran !== planned) throw new Error(`the steps run were: ${ran}\n  and should be: ${planned}`);
  return `${done.length} steps, ${done.reduce((sum, { checks }) => sum + checks, 0)} checks, 0 failed`;
};

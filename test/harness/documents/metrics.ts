/** A line of Prometheus' text format. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** The samples of a text in Prometheus' format. */
export const samplesOf = (text: string): Sample[] =>
  text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === '') throw new Error(`This is no sample: ${line}`);
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', text_ = '']) => [label, text_]);
      return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) };
    });

/** The sums of the samples of a name, by the values of these labels with spaces between; those that are 0 are left out. */
export const sumsBy = (samples: readonly Sample[], name: string, ...labels: string[]): Record<string, number> => {
  const sums: Record<string, number> = {};
  for (const sample of samples) {
    if (sample.name !== `content_gateway_${name}` || sample.value === 0) continue;
    const key = labels
      .map((label) => sample.labels[label] ?? '')
      .join(' ')
      .trim();
    sums[key] = (sums[key] ?? 0) + sample.value;
  }
  return sums;
};

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { Child } from '@convoy/testbed/process/child';
import { freePort } from '@convoy/testbed/process/free-port';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { parse, stringify } from 'yaml';
import { bothScales, readMonitoring, readRules } from './rules.js';

/** One time series of a range, as Prometheus' API returns it: times in seconds since 1970, values as text. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [number, string])[];
}

/** A fleet as a group of targets. */
export interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels: Readonly<{ fleet: string }>;
}

interface Configuration {
  global?: Readonly<Record<string, string>>;
  rule_files: string[];
  scrape_configs: {
    authorization?: { credentials_file: string };
    static_configs: readonly TargetGroup[];
  }[];
}

const readyWithin_ms = 60_000;
/** Often enough for rules whose minutes are seconds. */
const intervals = { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' };

/** Whether the program is on the PATH (Debian's package prometheus has it). */
export function hasPrometheus(): boolean {
  try {
    execFileSync('prometheus', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A Prometheus with the configuration and the alert rules of the documents, for targets of its own. */
export class Prometheus implements AsyncDisposable {
  readonly #groups: TargetGroup[] = [];

  private constructor(
    readonly url: string,
    private readonly child: Child,
    private readonly configure: (groups: readonly TargetGroup[]) => void,
  ) {}

  /** @param token what it sends to its targets */
  static async start(folder: ScratchFolder, token: string): Promise<Prometheus> {
    const [rules, credentials, config] = ['rules.yml', 'token', 'prometheus.yml'].map((name) => folder.file(name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(credentials, token, { mode: 0o600 });
    writeFileSync(rules, stringify(bothScales(readRules())));
    const configure = (groups: readonly TargetGroup[]): void =>
      writeFileSync(config, stringify(configurationFor(groups, rules, credentials)));
    configure([]);
    const address = `127.0.0.1:${await freePort()}`;
    const child = await Child.start({
      name: 'Prometheus',
      command: 'prometheus',
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${folder.file('prometheus')}`,
        `--web.listen-address=${address}`,
        '--web.enable-lifecycle',
      ],
      ready: /Server is ready to receive web requests/,
      readyWithin_ms,
      logFile: folder.file('prometheus.log'),
    });
    return new Prometheus(`http://${address}`, child, configure);
  }

  /** Scrapes more targets; resolves once each was scraped. */
  async scrape(group: TargetGroup): Promise<void> {
    this.#groups.push(group);
    this.configure(this.#groups);
    const reply = await fetch(`${this.url}/-/reload`, { method: 'POST' });
    if (!reply.ok) throw new Error(`Prometheus refuses its configuration: ${await reply.text()}`);
    await pollUntil(`Prometheus scrapes all of ${group.labels.fleet}`, readyWithin_ms, async () => {
      const up = await this.query(`up{fleet="${group.labels.fleet}"} == 1`);
      return up.length === group.targets.length;
    });
  }

  /** @returns the labels of all series with a value now */
  async query(expression: string): Promise<readonly Series['metric'][]> {
    const result = await this.#get('query', { query: expression });
    return result.map(({ metric }) => metric);
  }

  /** @returns the values of a label in the series that match, sorted */
  async labelValues(label: string, series: string): Promise<readonly string[]> {
    const parameters = new URLSearchParams({ 'match[]': series });
    const reply = await fetch(`${this.url}/api/v1/label/${label}/values?${parameters.toString()}`);
    return ((await reply.json()) as { data: readonly string[] }).data;
  }

  /** @param from and `to` in seconds since 1970 */
  queryRange(expression: string, from: number, to: number, step_seconds = 1): Promise<readonly Series[]> {
    return this.#get('query_range', {
      query: expression,
      start: String(from),
      end: String(to),
      step: String(step_seconds),
    });
  }

  async #get(path: string, parameters: Record<string, string>): Promise<readonly Series[]> {
    const reply = await fetch(`${this.url}/api/v1/${path}`, { method: 'POST', body: new URLSearchParams(parameters) });
    const { status, error, data } = (await reply.json()) as {
      status: string;
      error?: string;
      data?: { result: readonly Series[] };
    };
    if (status !== 'success' || data === undefined)
      throw new Error(`Prometheus refuses ${parameters['query'] ?? path}: ${error ?? status}`);
    return data.result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child.stop();
  }
}

/** The document's configuration, with other targets, files and intervals. */
function configurationFor(groups: readonly TargetGroup[], rules: string, credentials: string): Configuration {
  const config = parse(readMonitoring('prometheus.yml')) as Configuration;
  const [job] = config.scrape_configs;
  if (job?.authorization === undefined) throw new Error('docs/monitoring/prometheus.yml scrapes nothing with a token.');
  return {
    ...config,
    global: intervals,
    rule_files: [rules],
    scrape_configs: [
      { ...job, authorization: { ...job.authorization, credentials_file: credentials }, static_configs: groups },
    ],
  };
}

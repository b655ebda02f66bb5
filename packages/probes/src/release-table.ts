import { isFor, type Need, type Probe, releasesText } from './framework/probe.js';
import { recordedVersions } from './recorded-releases.js';

const needWords: Readonly<Record<Need, string>> = {
  direct: 'direct access to the shards',
  twoShards: 'two shards',
  users: 'access control',
  disturbing: 'only with --allow-disturbing',
};

/** What a probe needs of servers, in words; `any` for nothing. */
export function needsText({ topology, needs = [] }: Pick<Probe, 'topology' | 'needs'>): string {
  const kind = topology === undefined ? [] : [topology === 'sharded' ? 'sharded clusters' : 'replica sets'];
  const all = [...kind, ...needs.map((need) => needWords[need])];
  return all.length === 0 ? 'any' : all.join(', ');
}

/** The releases of real servers that the sentence covers and on which probes were run; `no` for none. */
function runText(probe: Probe): string {
  const untried = (probe.untriedOn ?? []).map((version) => version.join('.'));
  const versions = recordedVersions.filter((version) => isFor(probe, version)).map((version) => version.join('.'));
  const run = versions.filter((version) => !untried.includes(version));
  return run.length === 0 ? 'no' : run.join(', ');
}

/** A probe's row of docs/reference/releases.md: fact, releases, servers, source, name, releases on which it was run. */
export function releaseCells(probe: Probe): string[] {
  return [
    probe.sentence.replaceAll('|', '\\|'),
    releasesText(probe),
    needsText(probe),
    probe.source,
    `\`${probe.name}\``,
    runText(probe),
  ];
}

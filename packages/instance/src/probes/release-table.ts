import { type Need, type Probe, releasesText } from './framework/probe.js';

const needWords: Readonly<Record<Need, string>> = {
  direct: 'straight to the shards',
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

/** A probe's row of docs/releases.md: fact, releases, servers, source, name. */
export function releaseCells(probe: Probe): string[] {
  return [probe.sentence.replaceAll('|', '\\|'), releasesText(probe), needsText(probe), probe.source, `\`${probe.name}\``];
}

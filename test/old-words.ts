/** A word of the project's former dialect; the field has another one. */
export interface OldWord {
  /** Matches the word and its forms, between other words or parts of a name. */
  word: RegExp;
  /** What to write instead. */
  instead: string;
  /** Uses in the ordinary sense. */
  allowed?: readonly AllowedUse[];
}

/** An ordinary use of an old word. */
export interface AllowedUse {
  pattern: RegExp;
  reason: string;
}

/** The words that docs/reference/glossary.md and the names of the field have replaced. */
export const oldWords: readonly OldWord[] = [
  { word: /doors?/, instead: 'NodeClient, ClusterClient' },
  { word: /lanes?/, instead: 'apply worker' },
  { word: /scouts?/, instead: 'DDL watcher' },
  { word: /stations?/, instead: 'stage' },
  { word: /doubts?|doubted|doubtful/, instead: 're-read, document to re-read' },
  {
    word: /repair|repairs|repaired|repairing/,
    instead: 're-read',
    allowed: [
      {
        pattern: /CanRepairToDowngrade|DataModifiedByRepair|RepairedReplicaSetNode|'repaired'/g,
        reason: "names of the server's errors and fields",
      },
    ],
  },
  { word: /consent|consents|consented/, instead: 'acknowledgement, to acknowledge' },
  {
    word: /horizons?/,
    instead: 'DDL watermark',
    allowed: [{ pattern: /splitHorizons?/gi, reason: 'an option of replica sets' }],
  },
  { word: /nudge|nudges|nudged/, instead: 'to wake, to notify' },
  { word: /calm|at rest|to rest/, instead: 'idle, stopped' },
  {
    word: /share|shares/,
    instead: 'task, sync task',
    allowed: [
      { pattern: /\bshares? (?=(a|an|the|its|no|one|nothing|them|buffers|code)\b)/gi, reason: 'the verb' },
      { pattern: /\b(that|which|who|to|may|can|not|values|processes) shares?\b/gi, reason: 'the verb' },
      { pattern: /\bshares?(?= with| and|, in|\.? \*\/|\.$)/gi, reason: 'the verb' },
      { pattern: /usr\/share/g, reason: 'a folder of the system' },
      { pattern: /shards-share-the-uuid/g, reason: 'the verb, in the name of a probe' },
    ],
  },
  { word: /floors/, instead: 'layers' },
  {
    word: /figures?/,
    instead: 'stats, metrics, values',
    allowed: [
      { pattern: /'figure'|figcaption|\bfigure \{/g, reason: 'an element of HTML' },
      { pattern: /climate figures/g, reason: 'what data sets of the climate hold' },
    ],
  },
  {
    word: /posts|posted/,
    instead: 'published details, to publish',
  },
  {
    word: /courses?/,
    instead: 'history',
    allowed: [{ pattern: /\bof course\b/gi, reason: 'a phrase' }],
  },
  { word: /books?/, instead: 'store' },
  { word: /scenes?/, instead: 'fixture' },
  { word: /waves?/, instead: 'write batch' },
  {
    word: /told|tell|tells|telling/,
    instead: 'reports, shows, says',
    allowed: [
      { pattern: /\b(told|tells?|telling)\b.{0,60}\bapart\b/gi, reason: 'to distinguish' },
      { pattern: /\b(cannot tell|to tell$|to tell'|told from|no longer be told)/gi, reason: 'to distinguish' },
    ],
  },
  { word: /lets? go|letting go/, instead: 'to suspend' },
  {
    word: /takes? up|taken up|took up|taking up/,
    instead: 'to resume',
    allowed: [{ pattern: /takes? up to /g, reason: 'an upper bound' }],
  },
  { word: /sets? aside|setting aside/, instead: 'to park' },
  { word: /definition changes?/, instead: 'DDL change' },
  { word: /held events?|events? held/, instead: 'buffered events' },
  { word: /odd ones?/, instead: 'outliers' },
  { word: /roll calls?|calls the roll/, instead: 'member check' },
  { word: /(a|the|an|of|as|or) puts?/, instead: 'upsert, replacement' },
  { word: /what became of|what has become of|what becomes of/, instead: 'the outcome' },
  { word: /it is certain that/, instead: 'certainly, or the reason' },
];

/** Files with words that others have chosen. */
const foreign: readonly AllowedUse[] = [
  { pattern: /^docs\/contract\.md$/, reason: "the users' own document" },
  { pattern: /^packages\/simulator\/corpus\//, reason: 'what servers answered' },
  { pattern: /^(package-lock\.json|LICENSE|NOTICE|packages\/[a-z]+\/LICENSE)$/, reason: 'written by others' },
  { pattern: /\.(png|jsonl)$/, reason: 'no text' },
  { pattern: /^test\/old-words\.ts$/, reason: 'this table' },
  { pattern: /\/(take-over-release|live-upgrade)[.\w-]*\.ts$/, reason: 'fields as earlier releases stored them' },
];

/** @returns whether the table holds for a file */
export function isOwnText(path: string): boolean {
  return !foreign.some(({ pattern }) => pattern.test(path));
}

interface CompiledWord extends OldWord {
  search: RegExp;
}

const compiled: readonly CompiledWord[] = oldWords.map((old) => ({
  ...old,
  search: new RegExp(`\\b(?:${old.word.source})\\b`, 'i'),
}));
const any = new RegExp(oldWords.map(({ word }) => word.source).join('|'), 'i');

/**
 * Old words in a text, or in a path.
 * @returns one sentence for each: the line, the word and what to write instead
 */
export function oldWordsIn(text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    // Most lines have no old word, not even an allowed one.
    if (!any.test(asWords(line))) return [];
    return compiled.flatMap(({ search, instead, allowed = [] }) => {
      const own = allowed.reduce((rest, { pattern }) => rest.replaceAll(pattern, ''), line);
      const [word] = search.exec(asWords(own)) ?? [];
      return word === undefined ? [] : [`${index + 1}: "${word}"; write ${instead}`];
    });
  });
}

/** Parts of names as words: `ownShare` and `own_share` have a share, `shared` has none. */
function asWords(line: string): string {
  return line.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll(/[_-]/g, ' ');
}

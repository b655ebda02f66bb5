import type { CarriedKind } from '@convoy/api/contract/carry';
import type { CheckReply, SourceReply } from '@convoy/api/contract/start-guide';
import { byId, field, make, setList, setText } from './dom.js';
import { showFindings } from './findings.js';
import { ApiFailure, type FleetApi } from './fleet-api.js';
import { SourcePicker } from './source-picker.js';
import {
  type BuildIndexes,
  type IndexConflicts,
  type IndexFailures,
  shardKeyNamespaces,
  startView,
  type StartView,
  type SwitchView,
  type WriteBlocking,
} from './views/start-options.js';

/** Time without a change before the options are checked. */
const settle_ms = 600;
const switches = ['verification', 'reversible'] as const;
/** The kinds of `carry`; the browser loads no other package, so that the type keeps them equal. */
const carried: Readonly<Record<CarriedKind, true>> = {
  zones: true,
  balancing: true,
  usersAndRoles: true,
  defaultConcerns: true,
  clusterParameters: true,
  querySettings: true,
};
const carriedKinds = Object.keys(carried) as CarriedKind[];
const lists = ['buildIndexes', 'indexConflicts', 'indexFailures', 'writeBlocking'] as const;

/** The guided start: what to migrate, how, and whether both clusters are ready for it. */
export class StartCard {
  readonly #card = byId('start');
  readonly #picker = new SourcePicker(field(this.#card, 'picker'), () => this.#changed());
  readonly #shardKeys = new Map<string, string>();
  #source: SourceReply | null = null;
  #isReading = false;
  #isShown = false;
  #isHandwritten = false;
  #isPartlyStarted = false;
  /** Whether nothing that the last check of the present options found forbids a start. */
  #isFree = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checks = 0;

  /** @param start called with the body when the user wants to start */
  constructor(
    private readonly api: FleetApi,
    start: (body: unknown) => void,
  ) {
    for (const name of ['all', 'picked', ...lists, ...switches, ...carriedKinds, 'supportingIndexes'])
      field(this.#card, name).addEventListener('change', () => this.#changed());
    this.#json.addEventListener('input', () => this.#write());
    field(this.#card, 'toForm').addEventListener('click', () => this.#toForm());
    field(this.#card, 'again').addEventListener('click', () => void this.#check());
    byId('do-start').addEventListener('click', () => {
      const body = this.#readBody();
      if (body !== null) start(body);
    });
  }

  /**
   * Shows the card while a start is possible, and asks for the source's content then.
   * @param isPartlyStarted some instances have started: the checks forbid nothing then, as the destination is not empty
   */
  show(isPossible: boolean, isPartlyStarted: boolean): void {
    this.#card.hidden = !isPossible;
    this.#isPartlyStarted = isPartlyStarted;
    this.#showOffer();
    if (isPossible && !this.#isShown) this.#changed();
    this.#isShown = isPossible;
    if (isPossible && this.#source === null && !this.#isReading) void this.#readSource();
  }

  /** What the form would have carried; nothing while no start is possible. */
  get carried(): readonly CarriedKind[] {
    return this.#card.hidden ? [] : carriedKinds.filter((kind) => this.#input(kind).checked);
  }

  get #json(): HTMLTextAreaElement {
    return field(this.#card, 'json') as HTMLTextAreaElement;
  }

  #chosen(name: (typeof lists)[number]): string {
    return (field(this.#card, name) as HTMLSelectElement).value;
  }

  #input(name: string): HTMLInputElement {
    return field(this.#card, name) as HTMLInputElement;
  }

  async #readSource(): Promise<void> {
    this.#isReading = true;
    try {
      this.#source = await this.api.readSlowly<SourceReply>('/api/v1/source');
      this.#picker.show(this.#source);
      this.#showShardKeys(this.#source);
      this.#changed();
    } catch (error) {
      setText(field(this.#card, 'listed'), `The source cannot be listed. ${reasonOf(error)}`);
      // Shown, and read again with the next message only after a while.
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    } finally {
      this.#isReading = false;
    }
  }

  #view(): StartView {
    const isOn = (name: string): boolean => this.#input(name).checked;
    const choices = {
      isFiltered: isOn('picked'),
      databases: this.#picker.databases,
      collections: this.#picker.collections,
      buildIndexes: this.#chosen('buildIndexes') as BuildIndexes,
      indexConflicts: this.#chosen('indexConflicts') as IndexConflicts,
      indexFailures: this.#chosen('indexFailures') as IndexFailures,
      verifies: isOn('verification'),
      writeBlocking: this.#chosen('writeBlocking') as WriteBlocking,
      isReversible: isOn('reversible'),
      carried: carriedKinds.filter(isOn),
      shardKeys: this.#shardKeys,
      createsSupportingIndexes: isOn('supportingIndexes'),
    };
    return startView(choices, this.#source?.clusters ?? null);
  }

  #changed(): void {
    const view = this.#view();
    field(this.#card, 'picker').hidden = !this.#input('picked').checked;
    field(this.#card, 'shardKeys').hidden = !view.needsShardKeys;
    for (const name of switches) this.#showSwitch(name, view[name]);
    setText(field(this.#card, 'indexesReason'), view.indexes.reason ?? '');
    for (const name of ['indexConflicts', 'indexFailures'] as const)
      setText(field(this.#card, `${name}Reason`), view[name].reason ?? '');
    setText(field(this.#card, 'writeBlockingReason'), view.writeBlocking.reason ?? '');
    if (!this.#isHandwritten) this.#json.value = JSON.stringify(view.body, null, 2);
    this.#checkSoon();
  }

  /** A locked switch shows what holds, and the choice comes back with its reason gone. */
  #showSwitch(name: string, { isOn, reason }: SwitchView): void {
    const input = this.#input(name);
    if (reason !== null && !input.disabled) input.dataset['chosen'] = String(input.checked);
    if (reason !== null) input.checked = isOn;
    else if (input.disabled) input.checked = input.dataset['chosen'] === 'true';
    input.disabled = reason !== null;
    setText(field(this.#card, `${name}Reason`), reason ?? '');
  }

  #showShardKeys(source: SourceReply): void {
    setList(field(this.#card, 'keys'), shardKeyNamespaces(source), {
      key: (namespace) => namespace,
      create: (namespace) => {
        const input = make('input', { autocomplete: 'off', placeholder: 'not sharded' });
        input.addEventListener('input', () => {
          this.#shardKeys.set(namespace, input.value);
          this.#changed();
        });
        return make('li', {}, make('label', {}, namespace, input));
      },
      update: () => undefined,
    });
  }

  #write(): void {
    this.#isHandwritten = true;
    field(this.#card, 'toForm').hidden = false;
    this.#checkSoon();
  }

  #toForm(): void {
    this.#isHandwritten = false;
    field(this.#card, 'toForm').hidden = true;
    this.#changed();
  }

  /** The options; null without, with the reason in the summary. */
  #readBody(): unknown {
    const { refusal } = this.#view();
    if (refusal !== null && !this.#isHandwritten) return this.#conclude(`✕ ${refusal}`, false);
    try {
      return JSON.parse(this.#json.value) as unknown;
    } catch {
      return this.#conclude('✕ The options under Advanced are no valid JSON. Correct them.', false);
    }
  }

  #checkSoon(): void {
    // What an earlier check finds is about other options.
    this.#checks += 1;
    this.#isFree = false;
    this.#showOffer();
    field(this.#card, 'again').hidden = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#check(), settle_ms);
  }

  async #check(): Promise<void> {
    const body = this.#readBody();
    if (body === null || this.#card.hidden) return;
    this.#checks += 1;
    const check = this.#checks;
    setText(field(this.#card, 'summary'), '◌ Checking both clusters …');
    field(this.#card, 'again').hidden = true;
    const reply = await this.api.ask<CheckReply>('check', body).catch((error: unknown) => error);
    // Later options have a check of their own.
    if (check !== this.#checks) return;
    const { text, isFree, items } = checkedView(reply);
    this.#conclude(text, isFree, items);
    field(this.#card, 'again').hidden = false;
  }

  /** Shows what a check has found, and offers the start or not. */
  #conclude(text: string, isFree: boolean, items: CheckReply['items'] = []): null {
    setText(field(this.#card, 'summary'), text);
    showFindings(this.#card, items);
    this.#isFree = isFree;
    this.#showOffer();
    return null;
  }

  #showOffer(): void {
    (byId('do-start') as HTMLButtonElement).disabled = !this.#isFree && !this.#isPartlyStarted;
  }
}

interface CheckedView {
  readonly text: string;
  readonly isFree: boolean;
  readonly items: CheckReply['items'];
}

/** Without an answer in time the start is free: it checks again by itself. */
function checkedView(reply: unknown): CheckedView {
  if (reply instanceof ApiFailure && reply.error !== 'commandTimedOut')
    return { text: `✕ A migration cannot start yet. ${reply.message}`, isFree: false, items: [] };
  if (reply instanceof Error)
    return { text: `▲ Not checked: ${reasonOf(reply)} A start checks by itself.`, isFree: true, items: [] };
  const { canStart, items } = reply as CheckReply;
  const failed = items.filter(({ result }) => result === 'failed').length;
  const advice = items.some(({ result }) => result === 'warning') ? ' Read the warnings first.' : '';
  if (canStart) return { text: `✓ A migration can start.${advice}`, isFree: true, items };
  const what = failed === 1 ? 'one check fails' : `${failed} checks fail`;
  return {
    text: `✕ A migration cannot start yet: ${what}. Do what it says, then check again.`,
    isFree: false,
    items,
  };
}

function reasonOf(error: unknown): string {
  return error instanceof ApiFailure ? error.message : 'The coordinator does not respond.';
}

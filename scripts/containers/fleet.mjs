import { setTimeout as delay } from 'node:timers/promises';
import { output } from './command.mjs';

const project = 'convoy-check';
/** Enough for a copy on a slow machine with all its processors taken. */
const follows_ms = 300_000;
const poll_ms = 1_000;

/** The services of docker-compose.yml, for two simulated clusters. */
export class Fleet {
  #env;

  /**
   * @param {import('./engine.mjs').Engine} engine
   * @param {string} image name of the image to build
   * @param {number} documents to load
   */
  constructor(engine, image, documents) {
    this.engine = engine;
    this.#env = {
      ...engine.env,
      CONVOY_IMAGE: image,
      CONVOY_DEMO_DOCUMENTS: String(documents),
      // A free one, since the usual one may be taken.
      CONVOY_PUBLISHED_PORT: '0',
    };
  }

  /** Runs Compose. */
  compose(...args) {
    const [command, ...first] = this.engine.compose;
    const options = [
      '--project-name',
      project,
      '--env-file',
      'docker/demo.env',
      '--progress',
      'quiet',
      '--ansi',
      'never',
    ];
    return output(command, [...first, ...options, ...args], { env: this.#env });
  }

  docker(...args) {
    return output('docker', args, { env: this.#env });
  }

  /** Runs a program in the container of a service. */
  exec(service, ...command) {
    return this.compose('exec', '--no-TTY', service, ...command);
  }

  /** Runs `convoy` in the container of the coordinator. */
  convoy(...args) {
    return this.exec('coordinator', 'convoy', ...args);
  }

  /** Starts what does not run, and waits until all of it is healthy. */
  async up() {
    await this.compose('up', '--detach', '--wait');
  }

  /** @returns {Promise<{ Service: string, State: string, Health: string, Name: string }[]>} all containers */
  async containers() {
    const text = await this.compose('ps', '--all', '--format', 'json');
    return text.startsWith('[') ? JSON.parse(text) : text.split('\n').map((line) => JSON.parse(line));
  }

  /** What the engine knows about the container of a service. */
  async inspect(service) {
    const [container] = JSON.parse(await this.docker('inspect', `${project}-${service}-1`));
    return container;
  }

  /**
   * Reads the progress until a condition holds.
   * @throws {import('./command.mjs').CommandFailure} when the migration has failed, or the coordinator does not answer
   */
  async follow(what, until) {
    const deadline = Date.now() + follows_ms;
    for (;;) {
      const progress = JSON.parse(await this.convoy('progress', '--json'));
      if (until(progress)) return progress;
      if (Date.now() > deadline) throw new Error(`Not within ${follows_ms / 1000} s: ${what}.`);
      await delay(poll_ms);
    }
  }

  /** Removes the containers and their network. */
  async down() {
    await this.compose('down', '--volumes', '--timeout', '5');
  }
}

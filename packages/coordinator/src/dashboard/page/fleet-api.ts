/** A failure reply of the service. */
export class ApiFailure extends Error {
  constructor(
    readonly status: number,
    readonly error: string,
    description: string,
  ) {
    super(description);
    this.name = 'ApiFailure';
  }
}

const tokenKey = 'convoy-token';
/** The coordinator waits 30 s for its instances. */
const commandLimit_ms = 45_000;
/** Reads are repeated anyway. */
const readLimit_ms = 10_000;

/** Calls the coordinator with this page's token, which only this tab stores. */
export class FleetApi {
  /** Reads a token from the address (`#token=…`), which no server receives, and removes it there. */
  constructor() {
    const given = new URLSearchParams(location.hash.slice(1)).get('token');
    if (given === null) return;
    this.useToken(given);
    history.replaceState(null, '', location.pathname);
  }

  useToken(token: string): void {
    sessionStorage.setItem(tokenKey, token);
  }

  get hasToken(): boolean {
    return sessionStorage.getItem(tokenKey) !== null;
  }

  headers(): Record<string, string> {
    const token = sessionStorage.getItem(tokenKey);
    return token === null ? {} : { authorization: `Bearer ${token}` };
  }

  /** @throws ApiFailure the service's failure; TypeError when it does not respond */
  async read<Reply>(path: string, limit_ms = readLimit_ms): Promise<Reply> {
    return this.#answer(
      await fetch(path, { headers: this.headers(), signal: AbortSignal.timeout(limit_ms) }),
    ) as Promise<Reply>;
  }

  /** Reads what the service first has to ask an instance for. Throws as `read`. */
  readSlowly<Reply>(path: string): Promise<Reply> {
    return this.read(path, commandLimit_ms);
  }

  /**
   * Reads a reply of one JSON document per line.
   * @throws ApiFailure the service's failure; TypeError when it does not respond
   */
  async readLines<Line>(path: string): Promise<Line[]> {
    const response = await fetch(path, { headers: this.headers(), signal: AbortSignal.timeout(readLimit_ms) });
    if (!response.ok) await this.#answer(response);
    return (await response.text())
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  }

  /**
   * Reads a file.
   * @throws ApiFailure when the service refuses; TypeError when it does not answer
   */
  async readFile(path: string): Promise<Blob> {
    const response = await fetch(path, { headers: this.headers(), signal: AbortSignal.timeout(readLimit_ms) });
    if (!response.ok) await this.#answer(response);
    return response.blob();
  }

  /** @throws ApiFailure the service's failure; TypeError when it does not respond */
  async command(name: string, body: unknown): Promise<void> {
    await this.ask(name, body);
  }

  /**
   * Sends a body by POST and reads the reply.
   * @throws ApiFailure the service's failure; TypeError when it does not respond
   */
  async ask<Reply>(name: string, body: unknown): Promise<Reply> {
    const headers = { ...this.headers(), 'content-type': 'application/json' };
    return this.#answer(
      await fetch(`/api/v1/${name}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(commandLimit_ms),
      }),
    ) as Promise<Reply>;
  }

  async #answer(response: Response): Promise<unknown> {
    const reply = (await response.json().catch(() => ({}))) as { error?: string; errorDescription?: string };
    if (!response.ok)
      throw new ApiFailure(
        response.status,
        reply.error ?? `HTTP ${response.status}`,
        reply.errorDescription ?? response.statusText,
      );
    return reply;
  }
}

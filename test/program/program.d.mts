export interface Place {
  readonly dist: string
  readonly config: string
  readonly data: string
  readonly environment: Readonly<Record<string, string>>
}

export interface Ended {
  /** Its exit code, or the signal that ended it. */
  readonly code: number | NodeJS.Signals
  readonly out: string
  readonly err: string
}

export interface ServerProcess {
  readonly pid: number
  readonly ready: Promise<string>
  readonly ended: Promise<Ended>
  readonly isOver: boolean
  output(): string
  kill(signal: NodeJS.Signals): void
}

export interface ServingOptions {
  readonly port?: number
  readonly nodeFlags?: readonly string[]
  readonly logPath?: string
  readonly logFormat?: 'json' | 'pretty' | 'auto'
}

export const DIST: string
export function placeIn(folder: string, options?: Partial<Pick<Place, 'dist' | 'environment'>>): Place
export function runCommand(place: Place, words: readonly string[]): Promise<Ended>
/** What Node is given to run a command. */
export function commandAt(place: Place, ...words: readonly string[]): string[]
export function millrace<Value = Record<string, unknown>>(place: Place, ...words: readonly string[]): Promise<Value>
export function createAccount(
  place: Place,
  account: { readonly email: string; readonly credit?: string; readonly plan?: string },
): Promise<void>
export function createKey(
  place: Place,
  key: { readonly email: string; readonly kind?: string; readonly name?: string; readonly more?: readonly string[] },
): Promise<{ readonly id: string; readonly key: string }>
export function startServer(place: Place, options?: ServingOptions): ServerProcess
/** The report of `db verify`. */
export function verifyLedger(place: Place): Promise<{ readonly ok: boolean; readonly receipts: number }>

import type { ServerStatus } from '../../account/server-status.ts'
import type { ServeOptions, Terminal } from '../../cli/cli-deps.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Closing } from '../../lib/closing.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { SettingsOutcome } from '../config/load-settings.ts'
import type { House, OpenHouse, Serving } from '../house/house.ts'
import type { Faults } from '../process/faults.ts'
import type { Signals } from '../process/signals.ts'

/** What a server is started with. */
export interface ServeDeps {
  readonly version: string
  readonly node: string
  readonly pid: number
  /** The command that starts this program in a shell. */
  readonly program: string
  readonly clock: Clock
  readonly random: RandomBytes
  readonly terminal: Terminal
  readonly faults: Faults
  readonly loadSettings: (options: ServeOptions) => SettingsOutcome
  readonly openHouse: OpenHouse
  /** From its call on, SIGINT and SIGTERM are ours. */
  readonly openSignals: () => Signals
}

/** What may be said of the server: little until it listens. */
export interface Standing {
  status: () => ServerStatus
}

/** A server whose data folder is its own: what everything on the way to serving needs. */
export interface ServeGround extends ServeDeps {
  readonly options: ServeOptions
  readonly settings: LoadedConfig
  readonly house: House
  readonly closing: Closing
  readonly standing: Standing
}

/** A server that listens. */
export interface ServingGround extends ServeGround {
  readonly serving: Serving
  readonly url: string
  readonly metricsUrl: string | undefined
  readonly startedAt: number
}

import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.ts'
import type { LoadedConfig, SettingsOutcome } from '../config/load-config.ts'
import type { AppLog } from './app.ts'
import { type RuleBook, SWAPPED_SECTIONS } from './rules.ts'

/** The other sections take effect at the next start. */
const SWAPPED: ReadonlySet<keyof Config> = new Set(SWAPPED_SECTIONS)

interface ReloadServices {
  readonly loadSettings: () => SettingsOutcome
  readonly rules: Pick<RuleBook, 'replace'>
  readonly log: AppLog
  /** Called after a swap. */
  readonly onSwapped: () => Promise<void>
  /** Called after each reload: why it was refused, or null. */
  readonly onOutcome: (refused: string | null) => void
}

/**
 * Reloads the configuration: it is checked as a whole and swapped at once. A file with a problem changes nothing. Reloads that are
 * requested during one run once, after it.
 */
export function createReloader(deps: ReloadServices, started: LoadedConfig): () => Promise<void> {
  let inForce = started.config
  let running: Promise<void> | undefined
  let requested = false

  const reload = async () => {
    const loaded = deps.loadSettings()
    if (loaded.kind === 'invalid') {
      deps.log.error({ problems: loaded.message }, 'the configuration was not reloaded; the one in force stays')
      deps.onOutcome(loaded.message)
      return
    }
    if (isEmptied(started, loaded.settings)) {
      deps.log.error({}, 'the configuration was not reloaded: its file is empty or missing; the one in force stays')
      deps.onOutcome('The file is empty or missing.')
      return
    }
    const next = loaded.settings.config
    const changed = changedSections(inForce, next)
    await deps.rules.replace(next)
    inForce = next
    await deps.onSwapped()
    deps.onOutcome(null)
    deps.log.info({ models: next.models.length }, 'the configuration was reloaded')
    const waiting = changed.filter((section) => !SWAPPED.has(section))
    if (waiting.length > 0) deps.log.warn({ sections: waiting }, 'these sections take effect at the next start')
  }

  const runReloads = async () => {
    do {
      requested = false
      try {
        await reload()
      } catch (error) {
        deps.log.error({ error }, 'the configuration could not be reloaded; the one in force stays')
        deps.onOutcome('It could not be reloaded; the log says why.')
      }
    } while (requested)
    running = undefined
  }

  return () => {
    requested = true
    running ??= runReloads()
    return running
  }
}

/**
 * A writer may empty or delete the file before it writes it. At the start an empty file means the defaults; here it would remove
 * every model until the file is complete.
 */
function isEmptied(started: LoadedConfig, { origin, origins }: LoadedConfig): boolean {
  if (started.origin.kind === 'defaults') return false
  return origin.kind === 'defaults' || ![...origins.values()].some((place) => place.origin === origin.path)
}

const changedSections = (before: Config, after: Config): (keyof Config)[] =>
  (Object.keys(after) as (keyof Config)[]).filter((section) => !isDeepStrictEqual(before[section], after[section]))

/** Editors and deployments write a file in several steps, or replace it. */
const SETTLE_MS = 150

/**
 * Calls back when the file has changed. Watches its folder, because a replaced file is another file. A folder that cannot be
 * watched leaves SIGHUP. Returns how to stop.
 */
export function watchConfig(path: string, onChange: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const name = basename(path)
  try {
    const watcher = watch(dirname(path), { persistent: false }, (_event, changed) => {
      if (changed !== null && changed !== name) return
      clearTimeout(timer)
      timer = setTimeout(onChange, SETTLE_MS)
      timer.unref()
    })
    watcher.on('error', () => watcher.close())
    return () => {
      clearTimeout(timer)
      watcher.close()
    }
  } catch {
    return () => {}
  }
}

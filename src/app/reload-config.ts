import { type FSWatcher, watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { AppLog } from './app.ts'
import type { ManagedOutcome } from './managed-entries.ts'
import { type RuleBook, SWAPPED_SECTIONS } from './rules.ts'

/** The other sections take effect at the next start. */
const SWAPPED: ReadonlySet<keyof Config> = new Set(SWAPPED_SECTIONS)

/** A server that listens with TLS takes another certificate at once. With or without TLS is decided at the start. */
const isSwapped = (section: keyof Config, before: Config, after: Config): boolean =>
  SWAPPED.has(section) || (section === 'tls' && before.tls !== undefined && after.tls !== undefined)

interface ReloadServices {
  /** The file, with what operators manage beside it. */
  readonly load: () => Promise<ManagedOutcome>
  readonly rules: Pick<RuleBook, 'replace'>
  readonly log: AppLog
  /** Called after a swap. */
  readonly onSwapped: (config: Config) => Promise<void>
  /** Called with all files of a valid configuration. */
  readonly onRead: (files: readonly string[]) => void
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
    const loaded = await deps.load()
    if (loaded.kind === 'invalid') {
      deps.log.error({ problems: loaded.message }, 'the configuration was not reloaded; the one in force stays')
      deps.onOutcome(loaded.message)
      return
    }
    const next = loaded.settings.config
    const changed = changedSections(inForce, next)
    await deps.rules.replace(next, loaded.asOf)
    const waiting = changed.filter((section) => !isSwapped(section, inForce, next))
    inForce = next
    await deps.onSwapped(next)
    deps.onRead(loaded.settings.files)
    deps.onOutcome(null)
    deps.log.info({ models: next.models.length }, 'the configuration was reloaded')
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

const changedSections = (before: Config, after: Config): (keyof Config)[] =>
  (Object.keys(after) as (keyof Config)[]).filter((section) => !isDeepStrictEqual(before[section], after[section]))

/** Editors and deployments write a file in several steps, or replace it. */
const SETTLE_MS = 150

/** Kubernetes replaces the files of a volume by changing this link in their folder. */
const VOLUME_LINK = '..data'

/**
 * Calls back when one of the files has changed. Watches their folders, because a replaced file is another file. A folder that
 * cannot be watched leaves SIGHUP.
 */
export function watchFiles(onChange: () => void) {
  const watchers = new Map<string, FSWatcher>()
  let followed: ReadonlySet<string> = new Set()
  let timer: NodeJS.Timeout | undefined
  /** `*`: any file of the folder. */
  const follows = (folder: string, name: string) => followed.has(join(folder, name)) || followed.has(join(folder, '*'))
  const onEvent = (folder: string, changed: string | null) => {
    if (changed !== null && changed !== VOLUME_LINK && !follows(folder, changed)) return
    clearTimeout(timer)
    timer = setTimeout(onChange, SETTLE_MS)
    timer.unref()
  }
  const open = (folder: string) => {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, changed) => onEvent(folder, changed))
      watcher.on('error', () => watcher.close())
      watchers.set(folder, watcher)
    } catch {
      // SIGHUP reloads.
    }
  }
  return {
    /** Replaces the set of files. */
    follow(files: readonly string[]): void {
      followed = new Set(files)
      const folders = new Set(files.map((file) => dirname(file)))
      for (const [folder, watcher] of watchers) {
        if (folders.has(folder)) continue
        watcher.close()
        watchers.delete(folder)
      }
      for (const folder of folders) if (!watchers.has(folder)) open(folder)
    },
    close(): void {
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
    },
  }
}

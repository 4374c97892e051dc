import type { Config } from '../config/config.ts'
import type { Closing } from '../lib/async.ts'
import { urlOf } from '../lib/network.ts'
import { createDelivery, createInvitationMail, resumeDeliveries } from '../notices/deliver.ts'
import { createMailer } from '../notices/send-mail.ts'
import { createLaneWatch, createNoticeWatch } from '../notices/watch.ts'
import { createPostWebhook } from '../providers/post-webhook.ts'
import type { Core, Notices, Services } from './app.ts'
import { readVersions } from './process.ts'

/** Accounts whose money has moved are looked at this often. */
const EXAMINE_INTERVAL_MS = 1000
/** All accounts, for what a process that died had noted. */
const EXAMINE_ALL_INTERVAL_MS = 600_000
const SWEEP_INTERVAL_MS = 30_000
const LANES_INTERVAL_MS = 15_000
const RELOAD_INTERVAL_MS = 5000
const FORGET_INTERVAL_MS = 3_600_000
/** What waits for its next attempt is looked for this often; what was just queued is sent at once. */
const DELIVER_INTERVAL_MS = 2000

const PROBLEM_LENGTH_MAX = 400

/** The address of the console, as far as the configuration tells. */
export const consoleUrlOf = ({ server, tls }: Config): string =>
  `${server.publicUrl ?? urlOf(server.host, server.port, tls && 'https')}/console`

/** Nothing runs before `startNotices`: a command queues what the server then sends. */
export function createNotices(core: Core): Notices {
  const { config, clock, random, database, ringSeals, log, overrides } = core
  const onQueued = () => notices.onQueued()
  const mailer = config.mail && createMailer(config.mail)
  const secrets = ringSeals.notices
  const allowPrivate = config.notices.allowPrivateWebhooks
  const tellServices = {
    ...{ db: database.lowPriorityDb, file: database.file, clock, random, onQueued },
    sendsMail: () => mailer !== undefined,
  }
  const watch = createNoticeWatch(tellServices)
  const notices: Notices = {
    watch,
    admin: { secrets, mailer, allowPrivateWebhooks: allowPrivate, onQueued, examine: (account) => watch.note(account) },
    invitationMail: createInvitationMail({ ...tellServices, db: core.db, secrets }),
    delivery: {
      ...{ ...tellServices, secrets, mailer: () => mailer },
      post: createPostWebhook({
        resolve: overrides.resolveHost,
        allowPrivate: () => allowPrivate,
        userAgent: `millrace/${readVersions().millrace}`,
      }),
      consoleUrl: () => consoleUrlOf(config),
      onFailure: (error) => log.error({ error }, 'a notice could not be sent; it is sent later'),
    },
    onQueued: () => {},
  }
  return notices
}

interface NoticeJobs {
  /** Why the last reload of the configuration was refused. */
  readonly reloadRefused: () => string | null
}

/** Looks for notices and sends them while the server runs. */
export function startNotices(services: Services, { reloadRefused }: NoticeJobs, closing: Closing): void {
  const { notices, database, log, clock, rules, health, worker } = services
  const { watch, delivery } = notices
  /** One run at a time. */
  const repeat = (what: string, intervalMs: number, work: () => Promise<unknown>): (() => void) => {
    let running: Promise<void> | undefined
    let isDue = false
    const run = (): void => {
      isDue = true
      running ??= (async () => {
        while (isDue) {
          isDue = false
          await work().catch((error: unknown) => log.error({ error }, `${what}; the next run tries again`))
        }
        running = undefined
      })()
    }
    const timer = setInterval(run, intervalMs).unref()
    closing.add(async () => {
      clearInterval(timer)
      isDue = false
      await running
    })
    return run
  }
  /** On PostgreSQL one of all nodes does it. */
  const onOneNode = (job: string, intervalMs: number, work: () => Promise<unknown>) => async () => {
    if (database.kind === 'sqlite' || (await database.claimJob(job, intervalMs))) await work()
  }
  repeat('accounts could not be examined for notices', EXAMINE_INTERVAL_MS, () => watch.examineNoted())
  const all = onOneNode('notices of all accounts', EXAMINE_ALL_INTERVAL_MS, () => watch.examineAll())
  repeat('accounts could not be examined for notices', EXAMINE_ALL_INTERVAL_MS, all)()
  const sweep = onOneNode('notices that come by time', SWEEP_INTERVAL_MS, () => watch.sweep())
  repeat('keys and plans could not be examined for notices', SWEEP_INTERVAL_MS, sweep)()
  const forget = onOneNode('old notices', FORGET_INTERVAL_MS, () => watch.forget())
  repeat('old notices could not be deleted', FORGET_INTERVAL_MS, forget)
  const lanes = createLaneWatch({
    services: delivery,
    nowMicros: clock.nowMicros,
    listOpen: () =>
      rules.current.catalog.models
        .flatMap((model) => model.lanes)
        .flatMap((lane) => {
          const circuit = health.openCircuitOf(lane)
          // One account alone may be at fault itself.
          return circuit === undefined || circuit.onlyForAccount !== undefined
            ? []
            : [{ lane: lane.id, reason: circuit.reason }]
        }),
  })
  repeat('lanes could not be examined for notices', LANES_INTERVAL_MS, () => lanes.look())
  let refused: string | null = null
  repeat('a refused reload could not be told', RELOAD_INTERVAL_MS, async () => {
    const now = reloadRefused()
    // All workers of a server read the same file.
    if (now !== null && now !== refused && (worker === undefined || worker.number === 1)) {
      const once = `reload:${clock.now()}:${now.slice(0, PROBLEM_LENGTH_MAX)}`
      const facts = { problem: now.slice(0, PROBLEM_LENGTH_MAX) }
      await watch.tell({ once, event: 'reload.refused', account: null, person: null, facts })
    }
    refused = now
  })
  // A process that died may have sent what it had no time to record. On PostgreSQL it may be another node that still sends it.
  const resumed = database.kind === 'sqlite' ? resumeDeliveries(delivery) : Promise.resolve([])
  const attempts = createDelivery(delivery)
  closing.add(() => attempts.idle())
  const deliver = repeat('notices could not be sent', DELIVER_INTERVAL_MS, async () => {
    await resumed.catch(() => {})
    await attempts.beginDue()
  })
  notices.onQueued = deliver
  closing.add(() => {
    notices.onQueued = () => {}
  })
  deliver()
}

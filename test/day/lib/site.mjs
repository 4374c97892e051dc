import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { openNodes } from '../../chaos/lib/nodes.mjs'
import { startProvider } from '../../chaos/lib/provider.mjs'
import { readMetrics } from '../../chaos/lib/read-metrics.mjs'
import { sendRequest } from '../../chaos/lib/request.mjs'

/** What a provider does to a request in its bad hour, each as likely as another. Twice nothing. */
const BROWN_FAULTS = [
  ...[undefined, ['refuse', 0], ['refuse', 0], ['busy', 0], ['slow', 0], ['hang', 0]],
  ...[
    ['cut', 0],
    ['cut', 3],
    ['error', 0],
    ['error', 4],
  ],
]
const POLL_MS = 50

/** Providers that are well until their bad hour begins. */
export async function startProviders(names, random) {
  const providers = {}
  for (const name of names) {
    const provider = { isBrown: false, port: undefined, asked: 0 }
    provider.port = await startProvider(() => {
      provider.asked += 1
      return provider.isBrown ? random.pick(BROWN_FAULTS) : undefined
    })
    providers[name] = provider
  }
  return providers
}

/** The servers, and clients that ask them in turn. `sampleMs` is the interval in which their metrics are read. */
export async function openSite({ sampleMs, ...setting }) {
  const opened = await openNodes(setting)
  if (opened === undefined) return undefined
  const { nodes, addNode } = opened
  const agent = new Agent({ keepAlive: true })
  const notes = []
  /** Times in which clients may be told that something does not work: `kind`, `node`, `from`, `to`. */
  const disturbances = []
  /** Each start of a server until its end, with what its metrics said. */
  const lives = []
  const lifeOf = new Map()
  const alive = () => nodes.filter(({ isServing }) => isServing)
  let turn = 0

  const site = {
    ...{ ...opened, notes, disturbances, lives, alive },
    url: () => `http://127.0.0.1:${pickAlive()?.port ?? nodes[0].port}`,
    gate: {
      async passed() {
        while (alive().length === 0) await sleep(POLL_MS)
      },
    },
    /** Notes that something is wrong with one node, or with all, until `end` is called. */
    disturb(kind, node) {
      const disturbance = { kind, node: node?.number, from: Date.now(), to: Number.POSITIVE_INFINITY }
      disturbances.push(disturbance)
      return () => {
        disturbance.to = Date.now()
      }
    },
    async start(node) {
      await node.start()
      const life = { number: lives.length, node: node.number, from: Date.now(), to: undefined, ending: undefined }
      lives.push({ ...life, samples: [] })
      lifeOf.set(node, lives.at(-1))
    },
    /** Stops as an operator stops it, reading its metrics as long as it lets one; starts again as another build, or not at all. */
    async stop(node) {
      const life = lifeOf.get(node)
      node.isServing = false
      const stopped = node.stop().then(() => {
        life.to = Date.now()
      })
      while (life.to === undefined) await Promise.race([stopped, sample(life, node.metricsPort), sleep(POLL_MS)])
      life.ending = 'stop'
    },
    async kill(node) {
      await node.kill()
      Object.assign(lifeOf.get(node), { to: Date.now(), ending: 'kill' })
    },
    async addNode() {
      const node = await addNode()
      node.configure(setting.sections)
      return node
    },
    /** The request at the next node in turn; one that refuses the connection is passed over, as a load balancer does. */
    async sendTurn(sendTurn, onSeen) {
      for (;;) {
        const node = pickAlive()
        if (node === undefined) return { ended: 'unsent', sendTurn }
        const note = await sendRequest({ port: node.port, agent, sendTurn, onSeen })
        if (note.ended === 'unsent') continue
        // The bodies of a day would not fit into memory.
        note.inputBytes = bytesOf(sendTurn)
        note.sendTurn = { ...sendTurn, messages: undefined }
        note.node = node.number
        // A failed stream of Responses has an end of its own.
        if (note.ended === 'done' && note.code !== undefined) note.ended = 'failed'
        // As the clients of the cluster have it: a node or its database may have gone meanwhile.
        note.kills = []
        notes.push(note)
        return note
      }
    },
    metricsOf: (node) => readMetrics(node.metricsPort),
    sampleAll: () => Promise.all(alive().map((node) => sample(lifeOf.get(node), node.metricsPort))),
    /** Reads the metrics of all nodes until it is stopped. */
    startSampling() {
      const state = { stopped: false }
      const loop = async () => {
        while (!state.stopped) {
          await site.sampleAll()
          await sleep(sampleMs)
        }
      }
      const running = loop()
      return async () => {
        state.stopped = true
        await running
      }
    },
    async close() {
      agent.destroy()
      await opened.stop()
    },
  }
  return site

  function pickAlive() {
    const serving = alive()
    turn += 1
    return serving[turn % serving.length]
  }
}

const contentsOf = ({ content, messages }) => messages?.map((message) => message.content).join('') ?? content
const bytesOf = (sendTurn) => Buffer.byteLength(contentsOf(sendTurn))

/** Every series of the product. The oldest samples keep only what alerts look at. */
async function sample(life, port) {
  const from = Date.now()
  const series = await readMetrics(port).catch(() => undefined)
  if (series === undefined) return
  for (const name of series.keys()) if (!name.startsWith('millrace_')) series.delete(name)
  life.samples.push({ from, to: Date.now(), series })
}

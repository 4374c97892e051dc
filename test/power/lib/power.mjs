import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProvider } from '../../chaos/lib/provider.mjs'
import { createRandom } from '../../program/random.mjs'
import { chooseCuts } from './choose-cuts.mjs'
import { createDisk } from './disk.mjs'
import { judgeCut } from './judge-cut.mjs'
import { readLogs } from './read-log.mjs'
import { recordLoad } from './record-load.mjs'
import { compileRecorder } from './recorder.mjs'

/** So many folders are judged at the same time: starting a program is what takes the time. */
const AT_ONCE = 2
const WAYS = ['command', 'command', 'server', 'command', 'twice']

/** Records a load once, cuts the power at `cuts` moments of it, and judges what each cut has left. */
export async function losePower({ dist, trueDist, seconds, cuts: count, seed, slackMs, kinds }) {
  const random = createRandom(seed)
  const workshop = mkdtempSync(join(tmpdir(), 'millrace-power-cuts-'))
  const library = compileRecorder(workshop)
  const providerPort = await startProvider()
  const recording = await recordLoad({ dist, library, random, seconds, providerPort })
  const records = readLogs(recording.logs)
  const paths = pathsOf(records)
  const cuts = chooseCuts({ records, paths, recording, random, count, kinds })
  const judged = []
  const running = new Set()
  for (const cut of writeCuts({ cuts, records, workshop })) {
    const judging = judge(cut).finally(() => running.delete(judging))
    running.add(judging)
    if (running.size >= AT_ONCE) await Promise.race(running)
  }
  await Promise.all(running)
  return {
    ...{ recording, records, cuts: judged, violations: judged.flatMap(({ violations }) => violations) },
    clear() {
      for (const folder of [workshop, recording.folder]) rmSync(folder, { recursive: true, force: true })
    },
  }

  async function judge(cut) {
    const chosen = createRandom(cut.seed)
    const variant = WAYS[cut.index % WAYS.length]
    const { violations, known, figures } = await judgeCut({
      ...{
        cut,
        folder: cut.folder,
        recording,
        dist: trueDist,
        library,
        slackMs,
        random: chosen,
        providerPort,
        variant,
      },
    })
    const isWrong = violations.length > 0
    if (!isWrong) {
      for (const suffix of ['', '-wreck', '-logs', '-again'])
        rmSync(`${cut.folder}${suffix}`, { recursive: true, force: true })
    }
    const where = `cut ${cut.index} (${cut.kind}, ${variant}, ${cut.fate.mood}, ${cut.fate.names})`
    judged.push({
      ...cut,
      variant,
      known,
      figures,
      violations: violations.map((one) => ({ ...one, says: `${one.says} · ${where}` })),
    })
  }
}

/** Replays the log once, and writes a folder at each cut. */
function* writeCuts({ cuts, records, workshop }) {
  const disk = createDisk()
  let next = 0
  for (const [index, cut] of cuts.entries()) {
    while (next < records.length && records[next].at < cut.at) disk.apply(records[next++])
    const folder = join(workshop, `cut-${index}`)
    const unsynced = disk.unsynced()
    const fate = disk.write(folder, createRandom(cut.seed ^ 1))
    yield { ...cut, index, folder, unsynced, fate }
  }
}

/** The path that each record is about. A file that is open keeps being the same when it gets another name. */
function pathsOf(records) {
  const opened = new Map()
  return records.map(({ kind, file, data }) => {
    if (kind === 'open') opened.set(file, data.toString())
    if (kind === 'rename') {
      const [from, to] = data.toString().split('\n')
      for (const [other, path] of opened) if (path === from) opened.set(other, to)
    }
    return opened.get(file)
  })
}

import { slopeOf } from './fit-line.mjs'

/** From so many minutes on, the last two thirds are long enough for the bound that is meant: one megabyte a minute. */
const LONG_MINUTES = 15
const LONG = { pss: 1, live: 1 }
/**
 * In two minutes the memory of a process still takes its working size (85 MB a minute were seen where nothing leaked), so
 * that only a flood would show in it. What is reachable after a collection is steady after seconds (0.3 to 0.7 were
 * seen): at some sixty requests a second, 2 kB that each of them leaves behind are 8 MB a minute.
 */
const SHORT = { pss: 200, live: 8 }

export const boundsFor = (minutes) => (minutes >= LONG_MINUTES ? LONG : SHORT)

/** The lines through the last two thirds, and what is reachable in the heap after a collection. In MB a minute. */
export function checkGrowth(tally, { samples, live, bounds }) {
  const last = samples.filter(({ x }) => x >= samples.at(-1).x / 3)
  const slope = (of) => slopeOf(last.map((sample) => ({ x: sample.x, y: of(sample) })))
  console.log('\n| MB | first | at a third | most | last | slope, MB/min |\n|---|---|---|---|---|---|')
  for (const name of ['pss', 'rss', 'heap', 'heap, all of it', 'external']) {
    const values = [samples[0], last[0], { [name]: Math.max(...samples.map((sample) => sample[name])) }, samples.at(-1)]
    console.log(
      `| ${name} | ${values.map((sample) => sample[name].toFixed(1)).join(' | ')} | ${slope((sample) => sample[name]).toFixed(2)} |`,
    )
  }
  console.log(
    `reachable with everybody there: ${live.map(({ x, y }) => `${y.toFixed(1)} MB at ${x.toFixed(1)} min`).join(', ')}`,
  )
  const most = (of) => Math.max(...samples.map(of))
  console.log(`at most ${most(({ holds }) => holds)} holds and ${most(({ files }) => files)} files and sockets\n`)
  const pss = slope((sample) => sample.pss)
  tally.check(pss < bounds.pss, `Pss grows by ${pss.toFixed(2)} MB a minute (less than ${bounds.pss})`)
  const reachable = slopeOf(live)
  tally.check(
    reachable < bounds.live,
    `what is reachable in the heap grows by ${reachable.toFixed(2)} MB a minute (less than ${bounds.live})`,
  )
}

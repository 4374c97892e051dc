import { fitLine } from './fit-line.mjs'

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

/**
 * Lines through the last two thirds, in MB a minute: what is reachable, and the memory of the process, each right after a
 * collection. Between two collections the heap swings by more than a hundred MB in minutes, so that a line through all
 * samples says as much of where the last swing stood as of growth; they are printed, and a leak in them is one in these too.
 */
export function checkGrowth(tally, { samples, collected, bounds }) {
  printSamples(samples)
  for (const [name, of, bound] of [
    ['Pss after a collection', ({ pss }) => pss, bounds.pss],
    ['what is reachable in the heap', ({ live }) => live, bounds.live],
  ]) {
    const { slope, error } = fitLine(collected.map((each) => ({ x: each.x, y: of(each) })))
    console.log(`${name}, MB: ${collected.map((each) => of(each).toFixed(0)).join(' ')}`)
    tally.check(
      slope < bound,
      `${name} grows by ${slope.toFixed(2)} ± ${error.toFixed(2)} MB a minute (less than ${bound})`,
    )
  }
}

function printSamples(samples) {
  const last = samples.filter(({ x }) => x >= samples.at(-1).x / 3)
  console.log('\n| MB | first | at a third | most | last | slope, MB/min |\n|---|---|---|---|---|---|')
  for (const name of ['pss', 'rss', 'heap', 'heap, all of it', 'external']) {
    const values = [samples[0], last[0], { [name]: Math.max(...samples.map((sample) => sample[name])) }, samples.at(-1)]
    const { slope } = fitLine(last.map((sample) => ({ x: sample.x, y: sample[name] })))
    console.log(`| ${name} | ${values.map((sample) => sample[name].toFixed(1)).join(' | ')} | ${slope.toFixed(2)} |`)
  }
  const most = (of) => Math.max(...samples.map(of))
  console.log(`at most ${most(({ holds }) => holds)} holds and ${most(({ files }) => files)} files and sockets\n`)
}

/** Keeps this process busy, in which the server runs as well, with a breath between one piece of work and the next. */
export function workHard(): () => void {
  let piece: NodeJS.Immediate
  const work = () => {
    const until = performance.now() + 100
    while (performance.now() < until);
    piece = setImmediate(work)
  }
  work()
  return () => clearImmediate(piece)
}

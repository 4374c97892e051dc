/** One number of a running server. Undefined where it has no such series. */
export async function readMetric(port, name) {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const line = text.split('\n').find((line) => line.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.split(' ')[1])
}

/** Reading a request's head: the shortest that there is, what a browser sends, and the head of an answer. */
import { HeadParser } from '../../../../../../data-plane/src/worker/http1/head-parser.ts'
import type { MicroBenchmark, MicroCase } from '../../../../micro-benchmark.ts'

const OPERATIONS = 2_000

const SHORT = 'GET /1k HTTP/1.1\r\nHost: one.example.com\r\n\r\n'

const BROWSER = `GET /products/4711/reviews?page=2&sort=newest HTTP/1.1\r
Host: www.example.com\r
Connection: keep-alive\r
Cache-Control: max-age=0\r
sec-ch-ua: "Chromium";v="148", "Not.A/Brand";v="99"\r
sec-ch-ua-mobile: ?0\r
sec-ch-ua-platform: "Linux"\r
Upgrade-Insecure-Requests: 1\r
User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36\r
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r
Sec-Fetch-Site: same-origin\r
Sec-Fetch-Mode: navigate\r
Sec-Fetch-User: ?1\r
Sec-Fetch-Dest: document\r
Referer: https://www.example.com/products/4711\r
Accept-Encoding: gzip, deflate, br, zstd\r
Accept-Language: en-GB,en;q=0.9,de;q=0.8\r
Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r
\r
`

const ANSWER = `HTTP/1.1 200 OK\r
Server: nginx/1.22.1\r
Date: Mon, 30 Nov 2026 08:00:00 GMT\r
Content-Type: application/octet-stream\r
Content-Length: 1024\r
Connection: keep-alive\r
Last-Modified: Mon, 30 Nov 2026 08:00:00 GMT\r
ETag: "692bf780-400"\r
Accept-Ranges: bytes\r
\r
`

const parser = new HeadParser()

function parsing(name: string, head: string, parse: 'parseRequest' | 'parseAnswer'): MicroCase {
  const bytes = Buffer.from(head, 'latin1')
  return {
    name,
    operations: OPERATIONS,
    run: () => {
      let sum = 0
      for (let count = 0; count < OPERATIONS; count += 1) {
        sum += parser[parse](bytes, 0, bytes.length) + parser.fieldCount
      }
      return sum
    },
  }
}

export const headParserBenchmark: MicroBenchmark = {
  source: 'data-plane/src/worker/http1/head-parser.ts',
  cases: [
    parsing('a request with Host alone', SHORT, 'parseRequest'),
    parsing('a request of a browser', BROWSER, 'parseRequest'),
    parsing('an answer of nginx', ANSWER, 'parseAnswer'),
  ],
}

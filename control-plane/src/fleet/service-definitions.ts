/**
 * The services as the server speaks them: answers are bytes that were encoded before, so that one Update
 * is encoded once for all nodes; requests that cannot be decoded reach the handler as such, so that they
 * are refused with a clear status instead of an internal error; reports reach it as bytes.
 */
import {
  ConfigureRequest,
  ConfigureResponse,
  EnrolRequest,
  ReportRequest,
  ReportResponse,
} from '@sluice/proto'
import {
  EnrolmentServiceService,
  FleetServiceService,
  TelemetryServiceService,
} from '@sluice/proto/services'

export type Decoded<Request> =
  | { readonly kind: 'request'; readonly request: Request }
  | { readonly kind: 'malformed' }

function decodeWith<Request>(
  decode: (bytes: Uint8Array) => Request,
): (bytes: Buffer) => Decoded<Request> {
  return (bytes) => {
    try {
      return { kind: 'request', request: decode(bytes) }
    } catch {
      // What the decoder throws depends on where the bytes break off; the handler says what matters.
      return { kind: 'malformed' }
    }
  }
}

const asIs = (bytes: Buffer): Buffer => bytes

export const enrolmentDefinition = {
  enrol: {
    ...EnrolmentServiceService.enrol,
    requestDeserialize: decodeWith((bytes) => EnrolRequest.decode(bytes)),
  },
} as const

export const fleetDefinition = {
  configure: {
    ...FleetServiceService.configure,
    requestDeserialize: decodeWith((bytes) => ConfigureRequest.decode(bytes)),
    responseSerialize: asIs,
  },
} as const

export const telemetryDefinition = {
  report: {
    ...TelemetryServiceService.report,
    requestDeserialize: (bytes: Buffer): Decoded<Buffer> => ({ kind: 'request', request: bytes }),
    responseSerialize: asIs,
  },
} as const

/** Reports stay bytes until there is room for them. */
export const decodeReport = decodeWith((bytes) => ReportRequest.decode(bytes))

export function encodeConfigure(message: ConfigureResponse['message']): Buffer {
  return Buffer.from(ConfigureResponse.encode({ message }).finish())
}

export function encodeReport(message: ReportResponse['message']): Buffer {
  return Buffer.from(ReportResponse.encode({ message }).finish())
}

//! Spans of finished requests for an OpenTelemetry collector: OTLP, protobuf over plain HTTP. A
//! thread of the SDK gathers and sends them; its queue is bounded, and spans that find it full are
//! dropped. What the SDK reads from the environment (OTEL_*) holds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Span, SpanKind, Status, Tracer, TracerProvider};
use opentelemetry::{Array, Context, Key, KeyValue, StringValue, Value};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use opentelemetry_sdk::Resource;

use crate::ffi::{AttributeKind, RequestSpan, SpanAttribute};
use crate::{guard, Result};

const REQUEST_TIME: Duration = Duration::from_secs(5);

/// Whether the collector answers.
#[derive(Debug, Default)]
struct Reach {
    failing: bool,
    news: Option<String>, // since somebody last asked
}

/// Sends on the SDK's own thread, so it may block.
#[derive(Debug)]
struct Client {
    agent: ureq::Agent,
    reach: Arc<Mutex<Reach>>,
}

impl Client {
    fn new(reach: Arc<Mutex<Reach>>) -> Self {
        let config = ureq::Agent::config_builder().timeout_global(Some(REQUEST_TIME)).http_status_as_error(false);
        Self { agent: config.build().into(), reach }
    }

    fn send(&self, request: Request<Bytes>) -> std::result::Result<Response<Bytes>, ureq::Error> {
        let (head, body) = request.into_parts();
        let (head, mut body) = self.agent.run(Request::from_parts(head, body.to_vec()))?.into_parts();
        Ok(Response::from_parts(head, body.read_to_vec()?.into()))
    }

    fn note(&self, failure: Option<String>) {
        let mut reach = self.reach.lock().unwrap();
        match failure {
            Some(why) if !reach.failing => reach.news = Some(format!("the collector fails: {why}")),
            None if reach.failing => reach.news = Some("the collector answers again".into()),
            _ => return,
        }
        reach.failing = !reach.failing;
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> std::result::Result<Response<Bytes>, HttpError> {
        let sent = self.send(request);
        self.note(match &sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("status {}", response.status())),
            Err(error) => Some(error.to_string()),
        });
        Ok(sent?)
    }
}

pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    reach: Arc<Mutex<Reach>>,
}

impl Traces {
    /// An empty endpoint: the environment's.
    pub fn start(endpoint: &str) -> Result<Self> {
        let reach = Arc::<Mutex<Reach>>::default();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(reach.clone()))
            .with_endpoint(endpoint)
            .with_protocol(Protocol::HttpBinary)
            .build()?;
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource()).build();
        let tracer = provider.tracer("mlxforge");
        Ok(Self { provider, tracer, reach })
    }

    /// A span that ends now. Never waits.
    pub fn record(&self, span: &RequestSpan) -> Result<()> {
        guard(|| {
            self.record_guarded(span);
            Ok(())
        })
    }

    fn record_guarded(&self, span: &RequestSpan) {
        let end = SystemTime::now();
        let headers = HashMap::from([
            ("traceparent".to_string(), span.traceparent.clone()),
            ("tracestate".to_string(), span.tracestate.clone()),
        ]);
        let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
        let mut out = self
            .tracer
            .span_builder(span.name.clone())
            .with_kind(SpanKind::Server)
            .with_start_time(end - Duration::from_secs_f64(span.ms / 1000.0))
            .with_attributes(span.attributes.iter().map(key_value))
            .start_with_context(&self.tracer, &context);
        if span.failed {
            out.set_status(Status::error(""));
        }
        out.end_with_timestamp(end);
    }

    /// What has become of sending since somebody last asked; empty: nothing new.
    pub fn news(&self) -> String {
        self.reach.lock().unwrap().news.take().unwrap_or_default()
    }

    /// Sends what is left, for so long at most.
    pub fn shut_down(&self, ms: u64) -> Result<()> {
        guard(|| Ok(self.provider.shutdown_with_timeout(Duration::from_millis(ms))?))
    }
}

/// The service has the environment's name, else ours.
fn resource() -> Resource {
    let detected = Resource::builder().build();
    match detected.get(&Key::from_static_str("service.name")) {
        Some(name) if !name.as_str().starts_with("unknown_service") => detected,
        _ => Resource::builder().with_service_name("mlxforge").build(),
    }
}

fn key_value(attribute: &SpanAttribute) -> KeyValue {
    let value = match attribute.kind {
        AttributeKind::Integer => Value::I64(attribute.number as i64),
        AttributeKind::Real => Value::F64(attribute.number),
        AttributeKind::List => Value::Array(Array::String(vec![StringValue::from(attribute.text.clone())])),
        _ => Value::String(attribute.text.clone().into()),
    };
    KeyValue::new(attribute.name.clone(), value)
}
